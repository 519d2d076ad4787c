#define LEVEL_PLAIN
#include "kernels.h"
