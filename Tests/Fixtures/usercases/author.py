"""Writes the small models of the user-case tests with Apple's authoring package.

    python3 -m venv V && V/bin/pip install --pre coreai-core==1.0.0b3
    V/bin/python author.py

The tests read what this writes; they do not need Python.
"""
import shutil
from pathlib import Path
from typing import Annotated

import numpy as np
import coreai.authoring  # must be imported before the dialects
from coreai._compiler.dialects import coreai as ops
from coreai._compiler.ir import Value
from coreai.authoring import AIProgram, Module, TensorSpec

HERE = Path(__file__).parent
f32, f16, i32, u32 = np.float32, np.float16, np.int32, np.uint32


def save(name, build):
    module = Module.create()
    with module:
        build()
    module.verify()
    path = HERE / f"{name}.aimodel"
    shutil.rmtree(path, ignore_errors=True)
    AIProgram(module).save_asset(path)
    print(name, sum(f.stat().st_size for f in path.iterdir()), "bytes")


def T(shape, dtype, name=None):
    spec = TensorSpec(shape=shape, dtype=dtype, name=name) if name else TensorSpec(shape=shape, dtype=dtype)
    return Annotated[Value, spec]


def full(shape, value, dtype=f32):
    return ops.constant(np.full(shape, value, dtype))


def rounding():
    V = [9]

    @ops.graph
    def main(x: T(V, f32)) -> tuple[
            T(V, f32, "floor"), T(V, f32, "truncate"), T(V, f32, "ceiling"), T(V, f32, "round"),
            T(V, f32, "floordiv1"), T(V, f32, "floordiv2")]:
        one, two, minus = full(9, 1), full(9, 2), full(9, -1)
        floor = ops.sub(x, ops.modulo(ops.add(ops.modulo(x, one), one), one))
        truncate = ops.sub(x, ops.modulo(x, one))
        ceiling = ops.mul(ops.floor_divide(ops.mul(x, minus), one), minus)
        return (floor, truncate, ceiling, ops.round_(x), ops.floor_divide(x, one),
                ops.floor_divide(ops.mul(x, two), two))


def class_map():
    @ops.graph
    def main(scores: T([1, 19, 24, 40], f16)) -> tuple[
            T([1, 1, 24, 40], i32, "as_int32"), T([1, 1, 24, 40], np.uint8, "as_uint8"),
            T([1, 1, 24, 40], f16, "as_float16")]:
        best = ops.argmax(scores, ops.constant(np.array(1, i32)))
        return ops.cast(best, dtype=i32), ops.cast(best, dtype=np.uint8), ops.cast(best, dtype=f16)


def mask():
    V = [9]

    @ops.graph
    def main(x: T(V, f32)) -> tuple[
            T(V, f32, "m"), T(V, f32, "mx"), T(V, f32, "m_product"), T(V, f32, "m_minimum")]:
        i = ops.floor_divide(ops.mul(x, full(9, 8)), full(9, 1))
        low = ops.not_(ops.greater(full(9, 0), i))
        high = ops.greater(full(9, 8), i)
        m = ops.cast(ops.and_(low, high), dtype=f32)
        a, b = ops.cast(low, dtype=f32), ops.cast(high, dtype=f32)
        return m, ops.mul(m, x), ops.mul(a, b), ops.minimum(a, b)


def distances(variant):
    S = [1, 3, 2]

    def build():
        @ops.graph
        def main(x: T(S, f32), y: T(S, f32)) -> T([1, 3, 3], f32, "d"):
            axis = ops.constant(np.array([2], i32))
            swap = ops.constant(np.array([0, 2, 1], u32))
            xx = ops.reduce_sum(ops.mul(x, x), axis)
            yy = ops.reduce_sum(ops.mul(y, y), axis)
            if variant == "swap":
                row = ops.transpose(yy, swap)
            else:
                flat = ops.shrink_dims(yy, axis)
                row = ops.expand_dims(flat, ops.constant(np.array([1], i32)))
            xy = ops.batch_matmul(x, ops.transpose(y, swap))
            left = ops.broadcasting_sub(xx, ops.mul(xy, full([1, 3, 3], 2)))
            return ops.broadcasting_add(left, row)
    return build


def empty_split():
    @ops.graph
    def main(x: T([2, 3], f32)) -> T([2, 3], f32, "y"):
        parts = ops.split(x, ops.constant(np.array([3, 0], u32)), ops.constant(np.array(1, i32)))
        return ops.add(parts[0], full([2, 3], 1))


def empty_slice():
    @ops.graph
    def main(x: T([2, 3], f32)) -> T([2, 0], f32, "y"):
        vector = lambda *v: ops.constant(np.array(v, i32))
        return ops.slice_(x, vector(0, 0), vector(2, 0), vector(1, 1))


def empty_concat():
    @ops.graph
    def main(x: T([2, 3], f32)) -> T([2, 3], f32, "y"):
        vector = lambda *v: ops.constant(np.array(v, i32))
        nothing = ops.slice_(x, vector(0, 0), vector(2, 0), vector(1, 1))
        return ops.concat(ops.constant(np.array(1, i32)), [x, nothing])


def arguments():
    @ops.graph
    def main(tokens: T([1, -1], i32), image: T([1, 3, 8, 8], f16)) -> tuple[
            T([1, -1], i32, "next"), T([1, 3, 8, 8], f16, "picture")]:
        return ops.broadcasting_add(tokens, ops.constant(np.array([[1]], i32))), ops.mul(image, full([1, 3, 8, 8], 2, f16))


def lengths():
    rng = np.random.default_rng(14)
    a = (rng.standard_normal((64, 64)) / 8).astype(f32)
    b = (rng.standard_normal((64, 64)) / 8).astype(f32)
    np.save(HERE / "uc14_a.npy", a)
    np.save(HERE / "uc14_b.npy", b)

    @ops.graph
    def main(x: T([-1, 64], f32)) -> T([-1, 64], f32, "y"):
        h = ops.broadcasting_batch_matmul(x, ops.constant(a))
        return ops.broadcasting_batch_matmul(ops.softmax(h, ops.constant(np.array(1, i32))), ops.constant(b))


if __name__ == "__main__":
    save("uc01_rounding", rounding)
    save("uc02_class_map", class_map)
    save("uc03_mask", mask)
    save("uc04_distances_swap", distances("swap"))
    save("uc04_distances_expand", distances("expand"))
    save("uc05_split", empty_split)
    save("uc05_slice", empty_slice)
    save("uc05_concat", empty_concat)
    save("uc13_arguments", arguments)
    save("uc14_lengths", lengths)
