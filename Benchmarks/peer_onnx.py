"""ONNX Runtime as a resident process that answers the requests of `coreai run --serve-stdio`.

    python peer_onnx.py MODEL.onnx THREADS OUTPUT_DIRECTORY [NAME=FILE.npy ...]

All optimizations, sequential; inputs and outputs are bound once, so that no run copies them for Python.
"""
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime

import dialogue

TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}


def serve():
    path, threads, directory = sys.argv[1:4]
    files = dict(part.split("=", 1) for part in sys.argv[4:])
    start = time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = int(threads)
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    loaded = time.perf_counter()
    binding = session.io_binding()
    arrays = {value.name: np.ascontiguousarray(np.load(files[value.name]).astype(TYPES[value.type]))
              for value in session.get_inputs()}
    for name, array in arrays.items():
        binding.bind_cpu_input(name, array)
    names = [output.name for output in session.get_outputs()]
    for name in names:
        binding.bind_output(name, "cpu")
    begin = time.perf_counter()
    session.run_with_iobinding(binding)
    dialogue.tell(load_ms=1e3 * (loaded - start), first_ms=1e3 * (time.perf_counter() - begin))
    for request in dialogue.requests():
        if request["cmd"] == "stats":
            dialogue.tell_stats()
        elif request["cmd"] == "dump":
            for name, array in zip(names, binding.copy_outputs_to_cpu()):
                np.save(Path(directory) / f"{name}.npy", array)
            dialogue.tell()
        else:
            latencies, processor = [], []
            for _ in range(request["warmup"]):
                session.run_with_iobinding(binding)
            begin = time.perf_counter()
            while not dialogue.has_enough(latencies, request, begin):
                start = dialogue.clocks()
                session.run_with_iobinding(binding)
                end = dialogue.clocks()
                latencies.append(end[0] - start[0])
                processor.append(end[1] - start[1])
            dialogue.tell(latencies_ms=latencies, cpu_ms=processor)


serve()
