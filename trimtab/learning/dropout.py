"""Dropout: in training, elements are zero with a probability, and the others are scaled up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import UsageError
from trimtab.gradients import OpBuilder
from trimtab.program import Program


@dataclass(frozen=True)
class Mask:
    """The factors of a tensor's elements, an input of the training program."""

    shape: tuple[int, ...]
    ratio: float

    def draw(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """0 with the probability `ratio`, else 1 / (1 - ratio)."""
        scale = np.float32(1 / (1 - self.ratio))
        return np.where(rng.random(self.shape) < self.ratio, np.float32(0), scale)


def add_masks(program: Program, ratios: Mapping[str, float]) -> dict[str, Mask]:
    """Multiplies the results of operators, whose names fit a pattern of `ratios`, by masks, which
    become inputs. UsageError for a pattern that fits no operator, or a ratio outside of [0, 1).
    """
    block, masks = program.block, dict[str, Mask]()
    for pattern, ratio in ratios.items():
        if not 0 <= ratio < 1:
            raise UsageError(f"the ratio of dropout {pattern!r} is {ratio}, not from 0 to 1")
        if not any(fnmatchcase(op.name, pattern) for op in block.ops):
            raise UsageError(f"no operator fits {pattern!r}", hint="see trimtab.Program.ops")
    renamed: dict[str, str] = {}
    ops, block.ops = block.ops, []
    for op in ops:
        op.inputs = [renamed.get(name, name) for name in op.inputs]
        block.ops.append(op)
        ratio = next((r for pattern, r in ratios.items() if fnmatchcase(op.name, pattern)), 0.0)
        if ratio:
            (result,) = op.outputs
            mask = program.add_input(block.new_name(f"{op.name}.mask"), block.vars[result].shape)
            masks[mask] = Mask(block.vars[result].shape, ratio)
            renamed[result] = OpBuilder(block, f"{op.name}.dropout").add("mul", result, mask)
    return masks
