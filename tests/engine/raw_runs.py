"""Runs of the engine below `Session`: of a model file's image, with inputs by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from trimtab import _engine


class WrongInputError(Exception):
    """An input has another type or shape than the model's."""


def run_arrays(executor: _engine.Executor, arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The outputs for one array per input; WrongInputError if the engine does not take one."""
    inputs, outputs = (
        tuple(map(str, range(len(values)))) for values in (arrays, executor.outputs())
    )
    results = executor.run(inputs, outputs, dict(zip(inputs, arrays, strict=True)), {})
    if results is None:
        raise WrongInputError
    return list(results.values())
