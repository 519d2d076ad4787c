"""Graphs of ONNX written down op by op, with seeded weights."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
ELEMENTS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}


class Graph:
    """Collects nodes; every op returns the name of its value, or a list of names."""

    def __init__(self, name, seed=0):
        self.name = name
        self.random = np.random.default_rng(seed)
        self.nodes, self.inputs, self.outputs, self.weights = [], [], [], []
        self.examples = {}
        self.counts = {}

    def fresh(self, stem):
        self.counts[stem] = self.counts.get(stem, 0) + 1
        return f"{stem}_{self.counts[stem]}"

    def input(self, name, example):
        """An input of the shape and type of `example`, which is kept as what to run with."""
        self.examples[name] = example
        self.inputs.append(helper.make_tensor_value_info(name, ELEMENTS[example.dtype], example.shape))
        return name

    def output(self, value, name):
        self.nodes.append(helper.make_node("Identity", [value], [name], name=f"output_{name}"))
        self.outputs.append(helper.make_empty_tensor_value_info(name))

    def constant(self, array, stem="constant"):
        name = self.fresh(stem)
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def scalar(self, number):
        return self.constant(np.float32(number))

    def integers(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def normal(self, *shape, scale, stem="weight"):
        return self.constant((self.random.standard_normal(shape, np.float32) * np.float32(scale)), stem)

    def op(self, kind, *operands, outputs=1, **attributes):
        names = [self.fresh(kind) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(operands), names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def reshape(self, x, *shape):
        return self.op("Reshape", x, self.integers(*shape))

    def transpose(self, x, *order):
        return self.op("Transpose", x, perm=order)

    def slice(self, x, axis, begin, end):
        return self.op("Slice", x, self.integers(begin), self.integers(end), self.integers(axis))

    def conv(self, x, inputs, outputs, kernel, stride=1, groups=1, bias=True, gain=2.0):
        """A convolution that keeps the size at stride 1, initialized after He."""
        fan = inputs // groups * kernel * kernel
        operands = [x, self.normal(outputs, inputs // groups, kernel, kernel, scale=(gain / fan) ** 0.5)]
        if bias:
            operands.append(self.normal(outputs, scale=0.1, stem="bias"))
        return self.op("Conv", *operands, kernel_shape=[kernel, kernel], strides=[stride, stride],
                       pads=[kernel // 2] * 4, group=groups, dilations=[1, 1])

    def batch_norm(self, x, channels, gain=1.0):
        draw = self.random
        return self.op(
            "BatchNormalization", x,
            self.constant((gain * draw.uniform(0.8, 1.2, channels)).astype(np.float32), "scale"),
            self.normal(channels, scale=0.1, stem="shift"), self.normal(channels, scale=0.1, stem="mean"),
            self.constant(draw.uniform(0.8, 1.2, channels).astype(np.float32), "variance"), epsilon=1e-5)

    def linear(self, x, inputs, outputs, bias=True, gain=1.0):
        """A product with a weight, as exporters write `Linear` on three dimensions."""
        product = self.op("MatMul", x, self.normal(inputs, outputs, scale=(gain / inputs) ** 0.5))
        return self.op("Add", self.normal(outputs, scale=0.1, stem="bias"), product) if bias else product

    def layer_norm(self, x, width, epsilon):
        return self.op("LayerNormalization", x,
                       self.constant(self.random.uniform(0.8, 1.2, width).astype(np.float32), "scale"),
                       self.normal(width, scale=0.1, stem="shift"), axis=-1, epsilon=epsilon)

    def gelu(self, x):
        wave = self.op("Erf", self.op("Div", x, self.scalar(2 ** 0.5)))
        return self.op("Mul", self.op("Mul", x, self.op("Add", wave, self.scalar(1))), self.scalar(0.5))

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        known = {value.name: value for value in model.graph.value_info}
        kinds = {output: node.input[0] for node in model.graph.node for output in node.output if node.op_type == "Identity"}
        for output in model.graph.output:
            if not output.type.HasField("tensor_type"):
                output.type.CopyFrom(known[kinds[output.name]].type)
        onnx.checker.check_model(model, full_check=True)
        return model


def constants(model):
    """What the graph holds, as weights or as nodes."""
    held = {weight.name: numpy_helper.to_array(weight) for weight in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            held[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    return held


def floating_point_operations(model):
    """Of convolutions and matrix products, a multiplication and an addition each: 2·M·N·K."""
    model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    shapes = {value.name: [d.dim_value for d in value.type.tensor_type.shape.dim]
              for value in [*model.graph.value_info, *model.graph.input, *model.graph.output]}
    shapes.update({name: array.shape for name, array in constants(model).items()})

    def size(name):
        return int(np.prod(shapes[name]))

    total = 0
    for node in model.graph.node:
        if node.op_type == "Conv":
            total += 2 * size(node.output[0]) * int(np.prod(shapes[node.input[1]][1:]))
        elif node.op_type == "ConvTranspose":
            total += 2 * size(node.input[0]) * int(np.prod(shapes[node.input[1]][1:]))
        elif node.op_type == "MatMul":
            total += 2 * size(node.output[0]) * shapes[node.input[0]][-1]
        elif node.op_type == "Gemm":
            transposed = any(a.name == "transA" and a.i for a in node.attribute)
            total += 2 * size(node.output[0]) * shapes[node.input[0]][0 if transposed else 1]
    return total
