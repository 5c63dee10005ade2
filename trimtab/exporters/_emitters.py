"""Emitters: functions that write one operator of the engine in a format."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from trimtab.errors import ExportModelError
from trimtab.paths import PROGRAM
from trimtab.program import Op

E = TypeVar("E", bound=Callable[..., object])


class Emitters(Generic[E]):
    """The emitters of one format by operator, in the modules beside `module`.

    `format` is the name of the format, for errors.
    """

    def __init__(self, module: str, format: str) -> None:
        self.format = format
        self._package = module.rpartition(".")[0]
        self._emitters: dict[str, E] = {}
        self._complete = False

    def emits(self, *types: str) -> Callable[[E], E]:
        """Registers the decorated function as the emitter of these operators."""

        def register(emit: E) -> E:
            self._emitters.update(dict.fromkeys(types, emit))
            return emit

        return register

    def get(self, type: str) -> E | None:
        """The emitter of an operator; None if the format has no form for it."""
        return self.all().get(type)

    def all(self) -> dict[str, E]:
        """All emitters, after an import of every module of the format."""
        if not self._complete:
            package = importlib.import_module(self._package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self._package}.{module.name}")
            self._complete = True
        return self._emitters

    def refusal(self, op: Op, reason: str) -> ExportModelError:
        """The error for an operator that the format cannot express."""
        return ExportModelError(
            f"{self.format} has no equivalent operator: {reason}",
            where=f"operator {op.name} ({op.type})",
            hint=f"{PROGRAM} inspect shows the program; networks without this operator can be "
            "exported",
        )

    def write(self, ops: Iterable[Op], emit: Callable[[Op], None], where: str) -> None:
        """Calls `emit` for each operator. ExportModelError lists all refused operators."""
        refused: list[ExportModelError] = []
        for op in ops:
            try:
                emit(op)
            except ExportModelError as error:
                refused.append(error)
        if len(refused) == 1:
            raise refused[0]
        if refused:
            lines = [f"{e.where}: {e.what.partition(': ')[2] or e.what}" for e in refused]
            raise ExportModelError(
                "\n  ".join(
                    [f"{self.format} has no equivalent of {len(refused)} operators:", *lines]
                ),
                where=where,
                hint=refused[0].hint,
            )
