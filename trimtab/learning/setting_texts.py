"""Losses, optimizers and trainable parameters as texts of a command line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, TypeVar

from trimtab.errors import UsageError
from trimtab.learning.settings import Loss, Solver

T = TypeVar("T", Loss, Solver)


def loss(text: str) -> Loss:
    """ "softmax:output=prob,weight=0.3" -> the loss; UsageError for anything else."""
    return _parse(Loss, text)


def solver(text: str) -> Solver:
    """ "adam:rate=0.001,policy=step,step=100" -> the solver; UsageError for anything else."""
    return _parse(Solver, text)


def trainable(texts: Iterable[str]) -> dict[str, tuple[float, float]] | None:
    """["ip2*", "*.bias=2,0"] -> the multipliers of rate and decay by pattern; None if there are no
    texts. UsageError for anything else.
    """
    patterns = {}
    for text in texts:
        pattern, equals, numbers = text.partition("=")
        try:
            rate, decay = map(float, numbers.split(",")) if equals else (1.0, 1.0)
        except ValueError:
            hint = "write PATTERN, or PATTERN=RATE,DECAY, such as '*.bias=2,0'"
            raise UsageError(f"cannot read the parameters {text!r}", hint=hint) from None
        patterns[pattern] = (rate, decay)
    return patterns or None


def ratios(texts: Iterable[str]) -> dict[str, float]:
    """["relu6=0.5"] -> the ratio of dropout by pattern; UsageError for anything else."""
    result = {}
    for text in texts:
        pattern, _, ratio = text.rpartition("=")
        try:
            result[pattern or ratio] = float(ratio) if pattern else 0.5
        except ValueError:
            raise UsageError(f"cannot read the dropout {text!r}", hint="write relu6=0.5") from None
    return result


def _parse(kind: type[T], text: str) -> T:
    name, _, rest = text.partition(":")
    first, *others = fields(kind)
    defaults: dict[str, Any] = {field.name: field.default for field in others}
    values: dict[str, Any] = {first.name: name.strip()}
    for part in filter(None, rest.split(",")):
        key, _, value = (word.strip() for word in part.partition("="))
        if key not in defaults:
            hint = f"one of {', '.join(defaults)}"
            raise UsageError(f"{name} has no setting {key!r}", where=text, hint=hint)
        try:
            values[key] = _converted(value, defaults[key])
        except ValueError:
            raise UsageError(f"{key} cannot be {value!r}", where=text) from None
    return kind(**values)


def _converted(value: str, default: Any) -> Any:
    """A value in the type of its default; lists are "100/200"."""
    if isinstance(default, tuple):
        return tuple(int(word) for word in value.split("/"))
    if default is None:
        return int(value)
    return type(default)(value)
