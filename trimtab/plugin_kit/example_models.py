"""A model to try a new plug-in with: one layer of its type, in any format that trimtab reads.

The input x has the shape [1, 3, 16, 16] (in TFLite [1, 16, 16, 3]); the layer has one parameter.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import flatbuffers
import numpy as np
import tflite
from flatbuffers import flexbuffers
from numpy.typing import NDArray
from onnx import TensorProto, helper

from trimtab import files

FACTOR = 2.5
_SHAPE = (1, 3, 16, 16)


def write(framework: str, folder: Path, origin: str, parameter: str) -> Path:
    """Writes the model and returns its path. `origin`: the type of the layer as parsers name it;
    `parameter`: the name of its parameter, whose value is `FACTOR`.
    """
    name, make = _MAKERS[framework]
    path = folder / name
    content = make(origin, parameter)
    files.write_bytes(path, content if isinstance(content, bytes) else content.encode())
    return path


def _onnx(origin: str, parameter: str) -> bytes:
    domain, _, type = origin.rpartition(".")
    node = helper.make_node(type, ["x"], ["y"], name=type.lower(), domain=domain)
    node.attribute.append(helper.make_attribute(parameter, FACTOR))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, _SHAPE) for name in "xy")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    graph = helper.make_graph([node], "net", [x], [y])
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def _caffe(origin: str, parameter: str) -> str:
    sizes = " ".join(f"dim: {n}" for n in _SHAPE)
    return (
        f'layer {{ name: "x" type: "Input" top: "x" input_param {{ shape {{ {sizes} }} }} }}\n'
        f'layer {{ name: "y" type: "{origin}" bottom: "x" top: "y"\n'
        f"  {origin.lower()}_param {{ {parameter}: {FACTOR} }}\n}}\n"
    )


def _ncnn(origin: str, parameter: str) -> str:
    _, c, h, w = _SHAPE
    lines = [f"Input x 0 1 x 0={w} 1={h} 2={c}", f"{origin} y 1 1 x y {parameter}={FACTOR:e}"]
    return "\n".join(["7767517", "2 2", *lines, ""])


def _darknet(origin: str, parameter: str) -> str:
    _, c, h, w = _SHAPE
    return f"[net]\nwidth={w}\nheight={h}\nchannels={c}\n\n[{origin}]\n{parameter}={FACTOR}\n"


def _pnnx(origin: str, parameter: str) -> str:
    sizes = ",".join(map(str, _SHAPE))
    lines = [
        f"pnnx.Input x 0 1 0 #0=({sizes})f32",
        f"{origin} y 1 1 0 1 {parameter}={FACTOR:e}",
        "pnnx.Output out 1 0 1",
    ]
    return "\n".join(["7767517", "3 2", *lines, ""])


def _tflite(origin: str, parameter: str) -> bytes:
    """A custom operator, whose options are a map in a flexbuffer."""
    n, c, h, w = _SHAPE
    options = flexbuffers.Dumps({parameter: FACTOR})
    b = flatbuffers.Builder()

    def ints(*values: int) -> int:
        return int(b.CreateNumpyVector(_int32(values)))

    def table(kind: str, **fields: int) -> int:
        getattr(tflite, f"{kind}Start")(b)
        for key, value in fields.items():
            getattr(tflite, f"{kind}Add{key}")(b, value)
        return int(getattr(tflite, f"{kind}End")(b))

    def tables(*offsets: int) -> int:
        b.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            b.PrependUOffsetTRelative(offset)
        return int(b.EndVector())

    tensors = [
        table("Tensor", Name=b.CreateString(name), Shape=ints(n, h, w, c)) for name in ("x", "y")
    ]
    custom = tflite.BuiltinOperator.CUSTOM
    code = table(
        "OperatorCode",
        BuiltinCode=custom,
        DeprecatedBuiltinCode=custom,
        CustomCode=b.CreateString(origin.removeprefix("custom ")),
    )
    op = table(
        "Operator", Inputs=ints(0), Outputs=ints(1), CustomOptions=b.CreateByteVector(options)
    )
    graph = table(
        "SubGraph",
        Tensors=tables(*tensors),
        Operators=tables(op),
        Inputs=ints(0),
        Outputs=ints(1),
    )
    buffers = tables(table("Buffer"))
    model = table(
        "Model",
        Version=3,
        OperatorCodes=tables(code),
        Subgraphs=tables(graph),
        Buffers=buffers,
    )
    b.Finish(model, b"TFL3")
    return bytes(b.Output())


def _paddle(origin: str, parameter: str) -> bytes:
    """ProgramDesc of framework.proto, by field numbers."""

    def varint(value: int) -> bytes:
        low, high = value & 127, value >> 7
        return bytes([low | 128]) + varint(high) if high else bytes([low])

    def field(number: int, value: int | str | bytes) -> bytes:
        if isinstance(value, int):
            return varint(number << 3) + varint(value & 2**64 - 1)
        data = value.encode() if isinstance(value, str) else value
        return varint(number << 3 | 2) + varint(len(data)) + data

    def var(name: str, type: bytes) -> bytes:
        return field(3, field(1, name) + field(2, type))

    def op(type: str, x: str, y: str, attribute: bytes) -> bytes:
        slots = field(1, field(1, "X") + field(2, x)) + field(2, field(1, "Out") + field(2, y))
        return field(4, slots + field(3, type) + field(4, attribute))

    float32 = field(1, 5) + b"".join(field(2, n) for n in _SHAPE)
    tensor = field(1, 7) + field(3, field(1, float32))
    column = field(1, "col") + field(2, 0) + field(3, 0)
    factor = field(1, parameter) + field(2, 1) + varint(4 << 3 | 5) + struct.pack("<f", FACTOR)
    block = field(1, 0) + field(2, -1)
    block += var("feed", field(1, 9)) + var("fetch", field(1, 10)) + var("x", tensor)
    block += var("y", tensor) + op("feed", "feed", "x", column) + op(origin, "x", "y", factor)
    return field(1, block + op("fetch", "y", "fetch", column)) + field(4, field(1, 0))


def _int32(values: tuple[int, ...]) -> NDArray[np.int32]:
    return np.array(values, np.int32)


_MAKERS: dict[str, tuple[str, Callable[[str, str], str | bytes]]] = {
    "caffe": ("net.prototxt", _caffe),
    "darknet": ("net.cfg", _darknet),
    "ncnn": ("net.param", _ncnn),
    "onnx": ("net.onnx", _onnx),
    "paddle": ("net.pdmodel", _paddle),
    "pnnx": ("net.pnnx.param", _pnnx),
    "tflite": ("net.tflite", _tflite),
}
