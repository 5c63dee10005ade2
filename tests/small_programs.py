"""Small programs for the tests of passes, and the proof that a pass changes no output."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import trimtab
from trimtab import passes
from trimtab.modelfile import Program
from trimtab.planner import planner
from trimtab.target import Target

Array = NDArray[np.float32]

RNG = np.random.default_rng(20)


def normal(*shape: int) -> Array:
    """Normally distributed float32 of the shape."""
    return RNG.standard_normal(shape).astype(np.float32)


class Net:
    """A program in the making: `net("relu", x)` appends an operator and names its result."""

    def __init__(self, **inputs: tuple[int, ...]) -> None:
        self.program = Program("test")
        for name, shape in inputs.items():
            self.program.add_input(name, shape)

    def __call__(self, type: str, *operands: str | Array | float, **attributes: object) -> str:
        return self.many(type, 1, *operands, **attributes)[0]

    def many(
        self, type: str, outputs: int, *operands: str | Array | float, **attributes: object
    ) -> list[str]:
        """An operator of several results."""
        names = [
            x if isinstance(x, str) else self.program.block.add_constant(np.asarray(x, np.float32))
            for x in operands
        ]
        return self.program.block.add_op(type, names, attributes, outputs)

    def conv(self, x: str, channels: int, kernel: int = 1, **attributes: object) -> str:
        """A convolution with random weights and bias that keeps height and width."""
        group = attributes.get("group", 1)
        assert isinstance(group, int)
        c_in = self.program.vars[x].shape[1] // group
        attributes = {"pads": [kernel // 2] * 4, **attributes}
        weights = normal(channels, c_in, kernel, kernel)
        return self("conv", x, weights, normal(channels), **attributes)

    def batch_norm(self, x: str) -> str:
        """A batch normalization with random parameters, whose factors are not near 0."""
        channels = self.program.vars[x].shape[1]
        scale, variance = (np.abs(normal(channels)) + np.float32(0.5) for _ in range(2))
        shift, mean = normal(channels), normal(channels)
        return self("batch_normalization", x, scale, shift, mean, variance)

    def finish(self, *outputs: str) -> Program:
        """The program with these outputs."""
        self.program.outputs = list(outputs)
        return self.program


def evaluate(program: Program, inputs: dict[str, Array]) -> dict[str, Array]:
    """The engine's results with only the required pass: NHWC operators need their layout."""
    twin = program.copy()
    if "assign_layouts" not in twin.passes:
        passes.passes()["assign_layouts"].run(twin)
    return trimtab.Session(planner.plan(twin, Target.host())).run(inputs)


def after(program: Program, *names: str) -> Program:
    """The program after the named passes; asserts that its outputs have not changed."""
    changed = program.copy()
    for name in names:
        passes.passes()[name].run(changed)
        changed.passes.append(name)
    inputs = {name: normal(*program.vars[name].shape) for name in program.inputs}
    before, now = evaluate(program, inputs), evaluate(changed, inputs)
    assert list(now) == list(before) == program.outputs
    for name, want in before.items():
        # Sums cancel, and their error does not: it is relative to the largest value.
        scale = max(1.0, float(np.abs(want).max(initial=0)))
        np.testing.assert_allclose(now[name], want, rtol=1e-4, atol=1e-5 * scale)
    return changed


def types(program: Program) -> list[str]:
    """The operators in order."""
    return [op.type for op in program.ops]
