"""Makes the models that are measured, each once, as ONNX and as an asset with the same weights, and checks the pair.

    Benchmarks/models.py [DIRECTORY] [--only NAME ...] [--again] [--list]

DIRECTORY (default: Benchmarks/.cache) gets for each model a folder NAME with model.onnx, model.aimodel, inputs/*.npy in
the types of the asset, and model.json: what it computes, and how far Apple's runtime is from ONNX Runtime on it.
`coreai-onnx` converts. Needs coreai-core, coreai-onnx, onnx, onnxruntime; `Benchmarks/run` sets them up.
"""
import argparse
import asyncio
import json
import multiprocessing
import shutil
import sys
import time
import traceback
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
DEFAULT_DIRECTORY = HERE / ".cache"


def difference(ours, reference):
    """The largest difference, and that over the largest magnitude of the reference: a scale-free number."""
    if ours.shape != reference.shape:
        raise ValueError(f"expected the shape {list(reference.shape)}, found {list(ours.shape)}")
    if not (np.isfinite(ours).all() and np.isfinite(reference).all()):
        raise ValueError("values that are not finite")
    worst = float(np.abs(ours.astype(np.float64) - reference).max(initial=0))
    return worst, worst / max(float(np.abs(reference).max(initial=0)), 1e-30)


def run_onnx(path, inputs):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))


async def run_asset(path, inputs):
    """Apple's runtime: the outputs, the inputs in the asset's types, and the seconds of one run."""
    import coreai.authoring  # must be imported before the runtime
    from coreai.authoring import AIModelAsset
    from coreai.runtime import NDArray
    async with AIModelAsset.load(str(path)).executable() as model:
        function = model.load_function("main")
        inputs = {name: array.astype(function.desc.input_descriptor(name).dtype) for name, array in inputs.items()}
        arrays = {name: NDArray(array) for name, array in inputs.items()}
        start = time.perf_counter()
        outputs = await function(arrays)
        seconds = time.perf_counter() - start
        return {name: np.array(value.numpy()) for name, value in outputs.items()}, inputs, seconds


def make(network, folder):
    import onnx
    from coreai_onnx import convert
    from onnxgraph import constants, floating_point_operations
    made = network()
    model, inputs = made if isinstance(made, tuple) else (made.model(), made.examples)
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    (partial / "inputs").mkdir(parents=True)
    onnx.save(model, partial / "model.onnx")
    convert(model).save_asset(partial / "model.aimodel")
    reference = run_onnx(partial / "model.onnx", inputs)
    outputs, typed, seconds = asyncio.run(run_asset(partial / "model.aimodel", inputs))
    worst = [difference(outputs[name], reference[name]) for name in reference]
    for name, array in typed.items():
        np.save(partial / "inputs" / f"{name}.npy", array)
    about = {
        "name": folder.name, "function": "main", "gflop": floating_point_operations(model) / 1e9,
        "weights_mib": sum(tensor.nbytes for tensor in constants(model).values()) / 2 ** 20,
        "inputs": {name: {"shape": list(array.shape), "type": str(array.dtype)} for name, array in typed.items()},
        "outputs": {name: {"shape": list(array.shape), "largest": float(np.abs(array).max()), "deviation": float(array.std())}
                    for name, array in reference.items()},
        "original": {"seconds": seconds, "difference": max(w[0] for w in worst), "relative": max(w[1] for w in worst)},
    }
    (partial / "model.json").write_text(json.dumps(about, indent=1) + "\n")
    if about["original"]["relative"] > 1e-3:
        raise ValueError(f"Apple's runtime is {about['original']['relative']:.1e} from ONNX Runtime; see {partial}")
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def make_and_report(network, folder):
    try:
        make(network, folder)
    except Exception as error:
        traceback.print_exc(limit=-2)
        sys.exit(f"{folder.name}: {error}")


def ensure(directory, only=(), again=False):
    """Makes what is not there yet. A converter or runtime that aborts takes only its own process with it.

    - Returns: the folders, in the order of the table.
    """
    import networks
    table = {network.__name__: network for network in networks.ALL}
    for name in only:
        if name not in table:
            sys.exit(f"no model '{name}'; there are {', '.join(table)}")
    folders = []
    directory.mkdir(parents=True, exist_ok=True)
    for name in only or table:
        folder = directory / name
        if again or not (folder / "model.json").exists():
            print(f"making {name}", file=sys.stderr, flush=True)
            child = multiprocessing.get_context("spawn").Process(target=make_and_report, args=(table[name], folder))
            child.start()
            child.join()
            if child.exitcode != 0:
                print(f"{name} is left out: making it ended with {child.exitcode}", file=sys.stderr)
                continue
        folders.append(folder)
    return folders


def describe(folders):
    lines = []
    for folder in folders:
        about = json.loads((folder / "model.json").read_text())
        inputs = ", ".join(f"{name} {value['type']}{value['shape']}" for name, value in about["inputs"].items())
        outputs = ", ".join(f"{name} {value['shape']} (deviation {value['deviation']:.2g})"
                            for name, value in list(about["outputs"].items())[:1] + list(about["outputs"].items())[-1:])
        lines.append(f"{folder}: {about['gflop']:.3f} GFLOP, {about['weights_mib']:.0f} MiB of weights\n"
                     f"    in  {inputs}\n    out {outputs}\n"
                     f"    original {about['original']['seconds']:.2f} s a run, relative difference to ONNX Runtime "
                     f"{about['original']['relative']:.1e}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", type=Path, default=DEFAULT_DIRECTORY)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--again", action="store_true", help="make also what is there")
    parser.add_argument("--list", action="store_true", help="print the names and make nothing")
    options = parser.parse_args()
    if options.list:
        import networks
        print("\n".join(network.__name__ for network in networks.ALL))
        return
    print(describe(ensure(options.directory.resolve(), options.only, options.again)))


if __name__ == "__main__":
    main()
