"""Apple's Linux runtime as a resident process that answers the requests of `coreai run --serve-stdio`.

    python peer_original.py ASSET FUNCTION [NAME=FILE.npy ...]
"""
import asyncio
import sys
import time

import numpy as np
import coreai.authoring  # must be imported before the runtime
from coreai.authoring import AIModelAsset
from coreai.runtime import NDArray

import dialogue


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
        dialogue.tell(load_ms=1e3 * (loaded - start), first_ms=1e3 * (time.perf_counter() - loaded))
        for request in dialogue.requests():
            if request["cmd"] == "stats":
                dialogue.tell_stats()
                continue
            latencies, processor = [], []
            for _ in range(request["warmup"]):
                await function(inputs)
            begin = time.perf_counter()
            while not dialogue.has_enough(latencies, request, begin):
                start = dialogue.clocks()
                await function(inputs)
                end = dialogue.clocks()
                latencies.append(end[0] - start[0])
                processor.append(end[1] - start[1])
            dialogue.tell(latencies_ms=latencies, cpu_ms=processor)


asyncio.run(serve())
