"""Apple's Linux runtime as a resident process that answers the requests of `coreai run --serve-stdio`.

    python original.py ASSET FUNCTION [NAME=FILE.npy ...]
"""
import asyncio
import json
import sys
import time

import numpy as np
import coreai.authoring  # must be imported before the runtime
from coreai.authoring import AIModelAsset
from coreai.runtime import NDArray


async def serve():
    asset_path, function_name = sys.argv[1:3]
    arrays = {name: np.load(file) for name, _, file in (part.partition("=") for part in sys.argv[3:])}
    start = time.perf_counter()
    asset = AIModelAsset.load(asset_path)
    async with asset.executable() as model:
        function = model.load_function(function_name)
        loaded = time.perf_counter()
        inputs = {name: NDArray(array) for name, array in arrays.items()}
        await function(inputs)
        print(json.dumps({"load_ms": 1e3 * (loaded - start), "first_ms": 1e3 * (time.perf_counter() - loaded)}), flush=True)
        for line in sys.stdin:
            request = json.loads(line)
            latencies, cpu = [], []
            for _ in range(request.get("warmup", 0)):
                await function(inputs)
            begin = time.perf_counter()
            while len(latencies) < request["max_n"] and (
                    len(latencies) < request["min_n"] or 1e3 * (time.perf_counter() - begin) < request["slice_ms"]):
                t, c = time.perf_counter(), time.process_time()
                await function(inputs)
                latencies.append(1e3 * (time.perf_counter() - t))
                cpu.append(1e3 * (time.process_time() - c))
            print(json.dumps({"latencies_ms": latencies, "cpu_ms": cpu}), flush=True)


asyncio.run(serve())
