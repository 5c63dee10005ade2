"""The test bed: one program with every way in which a target can compute the drawn layers.

A way is an algorithm with a kernel. Each is there twice in a row: the first reads weights that the
caches have lost since the last inference, the second finds them where the first has left them. A
copy before each writes its input, as the operator before it does in a network.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trimtab import passes
from trimtab.fitting.shapes import DrawnLayer
from trimtab.kernels import Kernel
from trimtab.planner import algorithms, planner
from trimtab.planner.kernel_selection import KernelSelection
from trimtab.planner.plan_file import Choice, Plan
from trimtab.program import Program
from trimtab.program.block import NUMPY_DTYPES
from trimtab.program.quantization import Quantization
from trimtab.target import Target

COLD, WARM = "cold", "warm"
STATES = (COLD, WARM)

_ALL_CONSTANTS = 1 << 40  # more than a cache holds


@dataclass(frozen=True)
class Way:
    """One way to compute a layer, with weights in one state."""

    layer: DrawnLayer
    algorithm: str
    kernel: str
    state: str

    @property
    def group(self) -> tuple[str, str]:
        """The kernel and the algorithm, to which a row of coefficients is fitted."""
        return self.kernel, self.algorithm


@dataclass(frozen=True)
class Copied:
    """A copy of this many elements; `state` of the input."""

    elements: int
    state: str


Timed = Way | Copied


@dataclass
class Bed:
    """The program, and what its operators time by their names."""

    program: Program
    timed: dict[str, Timed]
    choices: dict[str, Choice] = field(default_factory=dict)

    def planned(self, target: Target) -> Program:
        """The program planned for a target; every operator as its way says."""
        return planner.plan(self.program, target, Plan(operators=self.choices), has_all_code=True)

    def inputs(self) -> list[NDArray[np.generic]]:
        """Values of the inputs, which fill all tensors; no result is denormal or infinite."""
        variables = [self.program.vars[name] for name in self.program.inputs]
        return [
            np.full(var.shape, 7 if var.dtype == "i8" else 0.5, NUMPY_DTYPES[var.dtype])
            for var in variables
        ]


def make(target: Target, layers: Iterable[DrawnLayer], copies: Sequence[int] = ()) -> Bed:
    """The test bed of these layers, and of copies of these sizes."""
    bed, weights = Bed(Program("fit"), {}), np.random.default_rng(2)
    block = bed.program.block
    for layer in layers:
        x = _input(bed.program, layer)
        operands = _constants(bed.program, layer, weights)
        for algorithm, selection in variants(layer, target).items():
            for kernel in selection.main_kernels():
                _add(bed, layer, algorithm, kernel, x, operands)
    for elements in copies:
        x = _filled(bed.program, f"copy{elements}", (elements,), "f32")
        for state in STATES:
            name = f"copy{elements}.{state}"
            block.add_op("relu", [x], {}, [name], name)
            bed.timed[name] = Copied(elements, state)
    # Nothing reads the other results: their memory is free again at once, as in a network.
    bed.program.outputs = [_filled(bed.program, "output", (1,), "f32")]
    passes.passes()["assign_layouts"].run(bed.program)
    bed.program.passes.append("assign_layouts")
    return bed


def variants(
    layer: DrawnLayer, target: Target, constant_bytes: int = 0
) -> dict[str, KernelSelection]:
    """The algorithms that can compute a layer on a target, each alone in a program."""
    program = Program("layer")
    x = _input(program, layer)
    operands = _constants(program, layer, np.random.default_rng(2))
    program.outputs = _conv(program, layer, x, operands, "layer")
    op = program.ops[-1]
    selections = {
        name: KernelSelection(program, lowered, algorithms.registry()[name], target, constant_bytes)
        for name, lowered in algorithms.lower(program, op, target).items()
    }
    return {name: variant for name, variant in selections.items() if not variant.missing()}


def constant_bytes(state: str) -> int:
    """Bytes of constants of a program whose weights are in this state at each inference."""
    return _ALL_CONSTANTS if state == COLD else 0


def _add(
    bed: Bed, layer: DrawnLayer, algorithm: str, kernel: Kernel, x: str, operands: list[str]
) -> None:
    block, stem = bed.program.block, f"{len(bed.timed)}.{algorithm}"
    if layer.dtype != "i8":  # whose inputs are as hot as the graph's input
        (x,) = block.add_op("relu", [x], {}, [f"{stem}.x"], f"{stem}.x")
    for state in STATES:
        name = f"{stem}.{state}"
        _conv(bed.program, layer, x, operands, name)
        bed.timed[name] = Way(layer, algorithm, kernel.name, state)
        bed.choices[name] = Choice(algorithm, {"kernel": kernel.name})


def _input(program: Program, layer: DrawnLayer) -> str:
    """The tensor of this size, common to all layers that have it."""
    shape = 1, layer.c_in, layer.height, layer.height
    name = f"{layer.dtype}x{layer.c_in}x{layer.height}"
    if name not in program.vars:
        _filled(program, name, shape, layer.dtype)
        if layer.dtype == "i8":
            program.vars[name].quantization = Quantization.of(0.04, 3)
    return name


def _filled(program: Program, name: str, shape: tuple[int, ...], dtype: str) -> str:
    """A tensor with the value of the graph's input of this dtype: a runner has few inputs."""
    value = f"{dtype}-value"
    if value not in program.vars:
        program.add_input(value, (1,), dtype)
    program.block.add_op("expand", [value], {"shape": list(shape)}, [name], name)
    return name


def _constants(program: Program, layer: DrawnLayer, rng: np.random.Generator) -> list[str]:
    """Weights, bias, and scales of quantized layers; few distinct values, which compress well."""
    shape = layer.c_out, layer.c_in // layer.group, layer.kernel, layer.kernel
    add = program.block.add_constant
    if layer.dtype == "i8":
        w = np.clip(rng.normal(0, 24, shape), -127, 127).astype(np.int8)
        bias = np.zeros(layer.c_out, np.int32)
        scales = np.full(layer.c_out, 0.01, np.float32)
        return [add(w), add(bias), add(scales)]
    dtype = NUMPY_DTYPES[layer.dtype]
    w = (rng.integers(-8, 9, shape) / 16).astype(dtype)
    return [add(w), add(np.zeros(layer.c_out, dtype))]


def _conv(program: Program, layer: DrawnLayer, x: str, operands: list[str], name: str) -> list[str]:
    type = "qlinear_conv" if layer.dtype == "i8" else "conv"
    half = layer.kernel // 2
    attributes = {"pads": [half] * 4, "strides": [layer.stride] * 2, "group": layer.group}
    outputs = program.block.add_op(type, [x, *operands], attributes, [name], name)
    if layer.dtype == "i8":
        program.vars[outputs[0]].quantization = Quantization.of(0.1, 0)
    return outputs
