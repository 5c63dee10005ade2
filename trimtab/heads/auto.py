"""The head that the model's file names, as exports of Ultralytics do."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab import heads
from trimtab.errors import UsageError
from trimtab.heads._builder import HeadBuilder
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The tensors of the head that the file names."""
    return heads.find(_name(program)).tensors(program)


def append(builder: HeadBuilder) -> None:
    """The operators of the head that the file names."""
    heads.find(_name(builder.program)).append(builder)


def _name(program: Program) -> str:
    if program.hints.head:
        return program.hints.head
    raise UsageError(
        "the model's file does not say which head its results need",
        where=program.name,
        hint=f"name one of {', '.join(heads.names())}",
    )
