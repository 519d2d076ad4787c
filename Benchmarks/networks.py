"""The networks that are measured: each function returns a `Graph`, or an ONNX model and its inputs.

Weights are seeded noise of the size that keeps activations near one, except where real ones are small and free.
"""
import importlib.util
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from onnxgraph import Graph


def picture(size, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, (1, 3, size, size)).astype(np.float32)


def tokens(count, vocabulary, seed=1):
    return np.random.default_rng(seed).integers(0, vocabulary, (1, count), np.int64)


# Convolutions

def resnet50(size=224):
    """Batch norms folded, as an exporter in evaluation mode leaves it."""
    g = Graph("resnet50")
    x = g.op("Relu", g.conv(g.input("image", picture(size)), 3, 64, 7, 2))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for width, count, first_stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
        for index in range(count):
            stride = first_stride if index == 0 else 1
            y = g.op("Relu", g.conv(x, channels, width, 1))
            y = g.op("Relu", g.conv(y, width, width, 3, stride))
            y = g.conv(y, width, 4 * width, 1, gain=0.2)
            if index == 0:
                x = g.conv(x, channels, 4 * width, 1, stride, gain=1.0)
            x = g.op("Relu", g.op("Add", y, x))
            channels = 4 * width
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    g.output(g.op("Gemm", x, g.normal(1000, 2048, scale=2048 ** -0.5), g.normal(1000, scale=0.1), transB=1), "logits")
    return g


def mobilenet_v2(size=224):
    """Batch norms present, as an exporter in training mode leaves it."""
    g = Graph("mobilenet_v2")

    def layer(x, inputs, outputs, kernel, stride=1, groups=1, clip=True, gain=1.0):
        x = g.batch_norm(g.conv(x, inputs, outputs, kernel, stride, groups, bias=False), outputs, gain)
        return g.op("Clip", x, g.scalar(0), g.scalar(6)) if clip else x

    x = layer(g.input("image", picture(size)), 3, 32, 3, 2)
    channels = 32
    for expansion, width, count, first_stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                                  (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for index in range(count):
            stride = first_stride if index == 0 else 1
            inner = channels * expansion
            y = layer(x, channels, inner, 1) if expansion > 1 else x
            y = layer(y, inner, inner, 3, stride, inner)
            y = layer(y, inner, width, 1, clip=False, gain=0.7)
            x = g.op("Add", x, y) if stride == 1 and channels == width else y
            channels = width
    x = layer(x, 320, 1280, 1)
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    g.output(g.op("Gemm", x, g.normal(1000, 1280, scale=1280 ** -0.5), g.normal(1000, scale=0.1), transB=1), "logits")
    return g


def yolov8n(size=640):
    """The detector of 3 sizes, with its boxes decoded: C2f, SPPF, SiLU, two ways of features, distribution of distances."""
    g = Graph("yolov8n")

    def layer(x, inputs, outputs, kernel, stride=1):
        return g.silu(g.conv(x, inputs, outputs, kernel, stride, gain=3.0))

    def bottlenecks(x, inputs, outputs, count, shortcut):
        half = outputs // 2
        x = layer(x, inputs, outputs, 1)
        parts = g.op("Split", x, g.integers(half, half), outputs=2, axis=1)
        for _ in range(count):
            y = layer(layer(parts[-1], half, half, 3), half, half, 3)
            parts.append(g.op("Add", parts[-1], y) if shortcut else y)
        return layer(g.op("Concat", *parts, axis=1), (2 + count) * half, outputs, 1)

    def pool(x):
        return g.op("MaxPool", x, kernel_shape=[5, 5], strides=[1, 1], pads=[2, 2, 2, 2])

    def twice(x):
        return g.op("Resize", x, "", g.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
                    coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    x = layer(g.input("image", (picture(size) + 1) / 2), 3, 16, 3, 2)
    x = bottlenecks(layer(x, 16, 32, 3, 2), 32, 32, 1, True)
    p3 = bottlenecks(layer(x, 32, 64, 3, 2), 64, 64, 2, True)
    p4 = bottlenecks(layer(p3, 64, 128, 3, 2), 128, 128, 2, True)
    x = bottlenecks(layer(p4, 128, 256, 3, 2), 256, 256, 1, True)
    x = layer(x, 256, 128, 1)
    a = pool(x)
    b = pool(a)
    p5 = layer(g.op("Concat", x, a, b, pool(b), axis=1), 512, 256, 1)
    n4 = bottlenecks(g.op("Concat", twice(p5), p4, axis=1), 384, 128, 1, False)
    n3 = bottlenecks(g.op("Concat", twice(n4), p3, axis=1), 192, 64, 1, False)
    m4 = bottlenecks(g.op("Concat", layer(n3, 64, 64, 3, 2), n4, axis=1), 192, 128, 1, False)
    m5 = bottlenecks(g.op("Concat", layer(m4, 128, 128, 3, 2), p5, axis=1), 384, 256, 1, False)
    flat, anchors, strides = [], [], []
    for x, channels, stride in [(n3, 64, 8), (m4, 128, 16), (m5, 256, 32)]:
        boxes = g.conv(layer(layer(x, channels, 64, 3), 64, 64, 3), 64, 64, 1, gain=1.0)
        classes = g.conv(layer(layer(x, channels, 80, 3), 80, 80, 3), 80, 80, 1, gain=1.0)
        side = size // stride
        flat.append(g.reshape(g.op("Concat", boxes, classes, axis=1), 1, 144, side * side))
        centres = np.arange(side, dtype=np.float32) + 0.5
        anchors.append(np.stack(np.meshgrid(centres, centres), 0).reshape(2, -1))
        strides.append(np.full((1, side * side), stride, np.float32))
    anchors, strides = np.concatenate(anchors, 1)[None], np.concatenate(strides, 1)
    count = anchors.shape[2]
    boxes, classes = g.op("Split", g.op("Concat", *flat, axis=2), g.integers(64, 80), outputs=2, axis=1)
    shares = g.op("Softmax", g.transpose(g.reshape(boxes, 1, 4, 16, count), 0, 2, 1, 3), axis=1)
    weight = g.constant(np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1))
    distances = g.reshape(g.op("Conv", shares, weight, kernel_shape=[1, 1]), 1, 4, count)
    near, far = g.slice(distances, 1, 0, 2), g.slice(distances, 1, 2, 4)
    low = g.op("Sub", g.constant(anchors), near)
    high = g.op("Add", g.constant(anchors), far)
    centre = g.op("Div", g.op("Add", low, high), g.scalar(2))
    boxes = g.op("Mul", g.op("Concat", centre, g.op("Sub", high, low), axis=1), g.constant(strides))
    g.output(g.op("Concat", boxes, g.op("Sigmoid", classes), axis=1), "detections")
    return g


# Encoders

def bert(name, layers, width, heads, length=128, vocabulary=30522):
    """The encoder of BERT with attention spelled out."""
    g = Graph(name)
    ids = g.input("input_ids", tokens(length, vocabulary))
    padded = np.ones((1, length), np.int64)
    padded[:, length * 7 // 8:] = 0
    mask = g.input("attention_mask", padded)
    kinds = g.input("token_type_ids", np.zeros((1, length), np.int64))
    mask = g.op("Cast", g.op("Unsqueeze", mask, g.integers(1, 2)), to=1)
    mask = g.op("Mul", g.op("Sub", g.scalar(1), mask), g.scalar(np.finfo(np.float32).min))
    x = g.op("Add", g.op("Gather", g.normal(vocabulary, width, scale=0.5), ids),
             g.op("Gather", g.normal(2, width, scale=0.1), kinds))
    x = g.op("Add", x, g.normal(1, length, width, scale=0.1))
    x = g.layer_norm(x, width, 1e-12)
    size = width // heads

    def split(x, *order):
        return g.transpose(g.reshape(x, 1, length, heads, size), *order)

    for _ in range(layers):
        query, key, value = (g.linear(x, width, width) for _ in range(3))
        scores = g.op("MatMul", split(query, 0, 2, 1, 3), split(key, 0, 2, 3, 1))
        scores = g.op("Add", g.op("Div", scores, g.scalar(size ** 0.5)), mask)
        mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), split(value, 0, 2, 1, 3))
        mixed = g.reshape(g.transpose(mixed, 0, 2, 1, 3), 1, length, width)
        x = g.layer_norm(g.op("Add", g.linear(mixed, width, width), x), width, 1e-12)
        inner = g.gelu(g.linear(x, width, 4 * width))
        x = g.layer_norm(g.op("Add", g.linear(inner, 4 * width, width), x), width, 1e-12)
    g.output(x, "last_hidden_state")
    return g


def minilm():
    return bert("minilm", 6, 384, 12)


def bert_base_4():
    """Four layers of the twelve."""
    return bert("bert_base_4", 4, 768, 12)


def vit_small(layers=12, width=384, heads=6, size=224, patch=16):
    g = Graph("vit_small")
    side = size // patch
    length, part = side * side + 1, width // heads
    weight = g.normal(width, 3, patch, patch, scale=(3 * patch * patch) ** -0.5)
    x = g.op("Conv", g.input("image", picture(size)), weight, g.normal(width, scale=0.1),
             kernel_shape=[patch, patch], strides=[patch, patch])
    x = g.transpose(g.reshape(x, 1, width, side * side), 0, 2, 1)
    x = g.op("Concat", g.normal(1, 1, width, scale=0.5), x, axis=1)
    x = g.op("Add", x, g.normal(1, length, width, scale=0.1))
    for _ in range(layers):
        y = g.linear(g.layer_norm(x, width, 1e-6), width, 3 * width)
        y = g.transpose(g.reshape(y, 1, length, 3, heads, part), 2, 0, 3, 1, 4)
        query, key, value = (g.op("Gather", y, g.constant(np.int64(index)), axis=0) for index in range(3))
        query = g.op("Mul", query, g.scalar(part ** -0.5))
        scores = g.op("Softmax", g.op("MatMul", query, g.transpose(key, 0, 1, 3, 2)), axis=-1)
        y = g.reshape(g.transpose(g.op("MatMul", scores, value), 0, 2, 1, 3), 1, length, width)
        x = g.op("Add", x, g.linear(y, width, width, gain=0.3))
        y = g.gelu(g.linear(g.layer_norm(x, width, 1e-6), width, 4 * width))
        x = g.op("Add", x, g.linear(y, 4 * width, width, gain=0.3))
    x = g.op("Gather", g.layer_norm(x, width, 1e-6), g.constant(np.int64(0)), axis=1)
    g.output(g.op("Gemm", x, g.normal(1000, width, scale=width ** -0.5), g.normal(1000, scale=0.1), transB=1), "logits")
    return g


# Decoders

def llama(name, length, past, layers=4, width=512, heads=8, groups=4, inner=1376, vocabulary=8192):
    """RMS norms, rotary positions, grouped queries, a gated SiLU. With `past`, caches are inputs and grow into outputs."""
    g = Graph(name)
    part = width // heads
    draw = np.random.default_rng(2)
    x = g.op("Gather", g.normal(vocabulary, width, scale=1.0), g.input("input_ids", tokens(length, vocabulary)))
    places = g.input("position_ids", np.arange(past, past + length, dtype=np.int64)[None])
    angles = np.outer(np.arange(past + 2 * length), 10000.0 ** (-np.arange(0, part, 2) / part))
    angles = np.concatenate([angles, angles], 1).astype(np.float32)
    cosine, sine = (g.op("Unsqueeze", g.op("Gather", g.constant(table), places), g.integers(1))
                    for table in (np.cos(angles), np.sin(angles)))

    def rms_norm(x):
        mean = g.op("ReduceMean", g.op("Pow", x, g.scalar(2)), axes=[-1], keepdims=1)
        factor = g.op("Div", g.scalar(1), g.op("Sqrt", g.op("Add", mean, g.scalar(1e-5))))
        return g.op("Mul", g.constant(g.random.uniform(0.8, 1.2, width).astype(np.float32)), g.op("Mul", x, factor))

    def split(x, heads):
        return g.transpose(g.reshape(x, 1, length, heads, part), 0, 2, 1, 3)

    def rotate(x):
        turned = g.op("Concat", g.op("Neg", g.slice(x, 3, part // 2, part)), g.slice(x, 3, 0, part // 2), axis=-1)
        return g.op("Add", g.op("Mul", x, cosine), g.op("Mul", turned, sine))

    def spread(x, total):
        """Each head of keys for the queries that share it."""
        x = g.op("Expand", g.op("Unsqueeze", x, g.integers(2)), g.integers(1, groups, heads // groups, total, part))
        return g.reshape(x, 1, heads, total, part)

    total = past + length
    for layer in range(layers):
        y = rms_norm(x)
        query = rotate(split(g.linear(y, width, width, bias=False), heads))
        key = rotate(split(g.linear(y, width, groups * part, bias=False), groups))
        value = split(g.linear(y, width, groups * part, bias=False), groups)
        if past:
            shape = (1, groups, past, part)
            old = [g.input(f"past_{kind}_{layer}", draw.standard_normal(shape, np.float32)) for kind in ("key", "value")]
            key, value = (g.op("Concat", *pair, axis=2) for pair in zip(old, (key, value)))
            g.output(key, f"present_key_{layer}")
            g.output(value, f"present_value_{layer}")
        scores = g.op("MatMul", query, g.transpose(spread(key, total), 0, 1, 3, 2))
        scores = g.op("Div", scores, g.scalar(part ** 0.5))
        if length > 1:
            hidden = np.triu(np.full((1, 1, length, total), np.finfo(np.float32).min, np.float32), 1 + past)
            scores = g.op("Add", scores, g.constant(hidden))
        mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), spread(value, total))
        mixed = g.reshape(g.transpose(mixed, 0, 2, 1, 3), 1, length, width)
        x = g.op("Add", x, g.linear(mixed, width, width, bias=False, gain=0.5))
        y = rms_norm(x)
        gate = g.silu(g.linear(y, width, inner, bias=False))
        y = g.op("Mul", gate, g.linear(y, width, inner, bias=False))
        x = g.op("Add", x, g.linear(y, inner, width, bias=False, gain=0.5))
    g.output(g.linear(rms_norm(x), width, vocabulary, bias=False), "logits")
    return g


def llama_prefill():
    return llama("llama_prefill", length=64, past=0)


def llama_decode():
    return llama("llama_decode", length=1, past=256)


# Real weights

def packaged(file, image):
    """A model of the package rapidocr-onnxruntime for one size of `image`."""
    package = importlib.util.find_spec("rapidocr_onnxruntime")
    if package is None or package.origin is None:
        raise FileNotFoundError("the package rapidocr-onnxruntime is not installed")
    model = onnx.load(Path(package.origin).parent / "models" / file)
    name = model.graph.input[0].name
    for dimension, size in zip(model.graph.input[0].type.tensor_type.shape.dim, image.shape):
        dimension.dim_value = size
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for output, array in zip(model.graph.output, session.run(None, {name: image})):
        output.CopyFrom(onnx.helper.make_tensor_value_info(output.name, output.type.tensor_type.elem_type, array.shape))
    del model.graph.value_info[:]
    return onnx.shape_inference.infer_shapes(model, data_prop=True), {name: image}


def page(height, width, line, seed=1):
    """Lines of dark strokes on light paper: something that looks like text to a detector."""
    draw = np.random.default_rng(seed)
    paper = draw.normal(0.9, 0.02, (height, width)).astype(np.float32)
    for top in range(line // 4, height - line // 2, line):
        left = line // 2
        while left < width - line:
            glyph = draw.random((5, 4)) < 0.55
            high, wide = max(1, line // 10), max(1, line // 12)
            strokes = np.kron(glyph, np.ones((high, wide)))[:height - top, :width - left]
            paper[top:top + strokes.shape[0], left:left + strokes.shape[1]] -= (0.8 * strokes).astype(np.float32)
            left += 5 * wide if draw.random() < 0.8 else 12 * wide
    return np.repeat((paper * 2 - 1)[None, None], 3, axis=1)


def ppocr_detection():
    return packaged("ch_PP-OCRv4_det_infer.onnx", page(640, 640, 40))


ALL = [resnet50, mobilenet_v2, minilm, bert_base_4, vit_small, ppocr_detection, yolov8n, llama_prefill, llama_decode]
