"""The range of a network's inputs, as far as the network itself tells it.

A model file may declare the range of its pictures (ONNX: `Image.NominalPixelRange`), and the first
operators of many networks normalize them: who subtracts 127 or divides by 255 expects 0 to 255.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.program import Op, Program
from trimtab.quantization.samples import Feed, Inputs, Samples, noise

PICTURE = (0.0, 255.0)
_UNIT = (0.0, 1.0)
_MEAN_OF_PICTURE = 16.0  # a mean of 0 to 1 pictures is below 1, one of 0 to 255 is around 120
_SCALE_TO_UNIT = 1 / 32  # at most 1/50 divides by the deviation of 0 to 255 pictures
_CHANNELS = (1, 3, 4)
_TYPES = ("f32", "f16", "u8")  # other integers are indices
_MOVES = ("cast", "transpose", "reshape", "convert_layout", "dequantize_linear", "slice", "pad")


@dataclass(frozen=True)
class InputRange:
    """The lowest and the highest value of an input, and how that is known; "" if it is assumed."""

    low: float
    high: float
    source: str = ""

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}" + (f" ({self.source})" if self.source else "")


def input_ranges(program: Program) -> dict[str, InputRange]:
    """The range of each input of an unoptimized program; without those that are no pictures and of
    which nothing is told. Pictures of which nothing is told may be bytes as they come: 0 to 255.
    """
    ranges = {}
    for name in program.inputs:
        if program.vars[name].dtype not in _TYPES:
            continue
        if declared := program.input_ranges.get(name):
            ranges[name] = InputRange(*declared, "declared by the model")
        elif normalized := _normalized(program, name):
            ranges[name] = normalized
        elif _is_picture(program, name):
            is_byte = program.vars[name].dtype == "u8"
            ranges[name] = InputRange(*PICTURE, "of type uint8" if is_byte else "")
    return ranges


def _is_picture(program: Program, name: str) -> bool:
    shape = program.vars[name].shape
    return len(shape) == 4 and (shape[1] in _CHANNELS or shape[3] in _CHANNELS)


def _normalized(program: Program, name: str) -> InputRange | None:
    """The range by the affine operators that read an input first: x * scale + offset."""
    scale, offset, source = 1.0, 0.0, ""
    while (op := program.sole_reader(name)) and op.outputs:
        line = _line(program, op, name)
        if line is None and op.type not in _MOVES:
            break
        if line is not None:
            scale, offset, source = scale * line[0], offset * line[0] + line[1], op.name
        name = op.outputs[0]
    if not source or not scale:
        return None
    mean = abs(offset / scale)
    is_picture = mean >= _MEAN_OF_PICTURE or abs(scale) <= _SCALE_TO_UNIT
    return InputRange(*(PICTURE if is_picture else _UNIT), f"normalized by {source!r}")


def _line(program: Program, op: Op, name: str) -> tuple[float, float] | None:
    """Scale and offset of an operator that normalizes `name`, for the channel that changes most."""
    data = {n: program.vars[n].data for n in op.inputs if n}
    constants = [c for n in op.inputs if n and n != name and (c := data[n]) is not None]
    if op.type == "batch_normalization" and len(constants) == len(op.inputs) - 1:
        gamma, beta, mean, variance = (np.asarray(c, np.float64) for c in constants[:4])
        slope = gamma / np.sqrt(variance + float(op.attributes["epsilon"]))
        return _extreme(slope), _extreme(beta - mean * slope)
    if len(op.inputs) != 2 or len(constants) != 1 or constants[0].size > max(_CHANNELS):
        return None
    value = _extreme(np.asarray(constants[0], np.float64))
    is_first = op.inputs[0] == name
    match op.type:
        case "add":
            return 1.0, value
        case "sub":
            return (1.0, -value) if is_first else (-1.0, value)
        case "mul":
            return value, 0.0
        case "div" if is_first and value:
            return 1 / value, 0.0
    return None


def _extreme(values: NDArray[np.float64]) -> float:
    """The element of the largest magnitude."""
    flat = values.reshape(-1)
    return float(flat[np.abs(flat).argmax()]) if flat.size else 0.0


def pictures(inputs: Inputs, ranges: Mapping[str, InputRange], count: int) -> Samples:
    """Seeded samples that fill these ranges: first the highest values everywhere, as in a white
    picture, then smooth noise. Inputs without a range get the noise as it is.
    """
    plain = noise(inputs, count)

    def feed(i: int) -> Feed:
        arrays = dict(plain.feed(i))
        for name, one in ranges.items():
            share = np.clip(0.5 + arrays[name].astype(np.float64) / 4, 0, 1) if i else 1.0
            values = one.low + (one.high - one.low) * np.broadcast_to(share, arrays[name].shape)
            arrays[name] = values.astype(arrays[name].dtype)
        return arrays

    return Samples(count, feed, is_seeded=True)
