"""Losses, found by their file names, as operators: the gradient rules differentiate them.

A module defines `NORMALIZATION`, Caffe's default; `ABSORBS`, the operator before the loss that it
computes itself; `target(shape)`, the shape and dtype of its target for a prediction of that shape
(None: it has none); and `errors(terms)`, the name of the tensor of errors, which `Terms` sums up.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from functools import cache
from types import ModuleType

from trimtab.errors import UsageError
from trimtab.gradients import OpBuilder
from trimtab.learning.settings import Loss
from trimtab.program import Block


class Terms(OpBuilder):
    """Prediction and target of a loss, and its settings."""

    def __init__(self, block: Block, loss: Loss, prediction: str, target: str) -> None:
        super().__init__(block, f"loss.{loss.kind}")
        self.loss, self.prediction, self.target = loss, prediction, target

    def valid(self) -> str:
        """1 where the target is not `ignore_label`, else 0; "" if no label is ignored."""
        if self.loss.ignore_label is None:
            return ""
        dtype = self.block.vars[self.target].dtype
        label = self.constant([self.loss.ignore_label], "float32" if dtype == "f32" else "int32")
        ignored = self.add("compare", self.target, label, relation="equal")
        return self.plus(self.add("neg", self.add("cast", ignored, to="f32")), 1)

    def total_error(self, errors: str, default: str) -> str:
        """The normalized and weighted sum of errors, [1]; a prediction of several errors per
        example has one per place.
        """
        valid = self.valid()
        if valid:
            errors = self.add("mul", errors, self.reshape(valid, *self.shape(errors)))
        total = self.total(errors)
        shape = self.shape(errors)
        match self.loss.normalization or default:
            case "valid" if valid:
                total = self.add("div", total, self.add("clip", self.total(valid), alpha=1))
            case "valid" | "full":
                total = self.times(total, 1 / math.prod(shape))
            case "batch_size":
                total = self.times(total, 1 / shape[0])
        return self.times(total, self.loss.weight)


@cache
def kinds() -> dict[str, ModuleType]:
    """Every loss by its name."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}


def kind(name: str) -> ModuleType:
    """A loss by its name; UsageError if there is none."""
    if name not in kinds():
        raise UsageError(f"there is no loss {name!r}", hint=f"one of {', '.join(kinds())}")
    return kinds()[name]


def add(block: Block, loss: Loss, prediction: str, target: str) -> str:
    """Adds a loss to a block and returns the name of its value, [1]."""
    module = kind(loss.kind)
    terms = Terms(block, loss, prediction, target)
    return terms.total_error(module.errors(terms), module.NORMALIZATION)
