"""Steps of a camera's description from the values of other programs' files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trimtab.program import ModelHints

_PIXELS = 1 << 14


class UnknownStepError(Exception):
    """A sentence: a step of the file that no description of a camera means."""


def camera_or_refusal(steps: Callable[[], Sequence[str]]) -> ModelHints:
    """Hints with the steps, or with why they are none."""
    try:
        return ModelHints(camera=" | ".join(steps()))
    except UnknownStepError as error:
        return ModelHints(refusal=str(error))


def number(value: Any, what: str) -> float:
    """A number; UnknownStepError if it is something else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnknownStepError(f"{what} is {value!r}, not a number")
    return float(value)


def side(value: Any, what: str) -> int:
    """Pixels of a side; UnknownStepError if it is something else."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _PIXELS:
        raise UnknownStepError(f"{what} is {value!r}, not a number of pixels")
    return value


def normalized(mean: Any, std: Any) -> list[str]:
    """The steps (v - mean) / std, of three channels or one."""
    steps = []
    for name, values in (("mean", mean), ("std", std)):
        if not isinstance(values, Sequence) or isinstance(values, str) or len(values) not in (1, 3):
            raise UnknownStepError(f"{name} is {values!r}, not a value of each of three channels")
        steps.append(f"{name}({', '.join(f'{number(v, name):.9g}' for v in values)})")
    if 0 in std:
        raise UnknownStepError("std is 0")
    return steps


def method(names: Mapping[Any, str], value: Any, what: str) -> str:
    """The camera's method of resampling for the program's own name or number of it."""
    resampling = names.get(value) if isinstance(value, int | str) else None
    if resampling is None:
        raise UnknownStepError(
            f"{what} is {value!r}, and cameras resample only as their methods do (docs/camera.md)"
        )
    return resampling


def by_number(names: Any) -> tuple[str, ...]:
    """The names of a list, or of a dictionary by numbers, which may be texts; none if one lacks."""
    if isinstance(names, list):
        return tuple(map(str, names))
    if not isinstance(names, dict):
        return ()
    texts = {str(key): str(name) for key, name in names.items()}
    numbers = [str(i) for i in range(len(names))]
    return tuple(texts[i] for i in numbers) if texts.keys() == {*numbers} else ()
