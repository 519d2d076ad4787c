"""The dialogue of `coreai run --serve-stdio`: one JSON line in, one out."""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time


class Peer:
    """A resident process that answers."""

    def __init__(self, name, command):
        self.name = name
        self.errors = tempfile.TemporaryFile("w+")
        free = {key: value for key, value in os.environ.items() if key not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, env=free)
        self.ready = self.answer()

    def answer(self):
        while True:
            line = self.process.stdout.readline()
            if not line:
                status = self.process.wait()
                self.errors.seek(0)
                raise RuntimeError(f"{self.name} ended with {status}: {self.errors.read().strip()[-300:]}")
            if line.startswith("{"):  # Apple's runtime prints lines of its own
                break
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {answer['error']}")
        return answer

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def tell(**answer):
    print(json.dumps(answer), flush=True)


def milliseconds(seconds):
    return 1e3 * seconds


def requests():
    return map(json.loads, sys.stdin)


def clocks():
    """Now, and the processor time of all threads of this process, in milliseconds."""
    return milliseconds(time.perf_counter()), milliseconds(time.process_time())


def has_enough(latencies, request, begin):
    count = len(latencies)
    return count >= request["max_n"] or (
        count >= request["min_n"] and milliseconds(time.perf_counter() - begin) >= request["slice_ms"])


def tell_stats():
    tell(peak_rss_kib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
