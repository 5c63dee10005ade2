"""Budgets: upper limits for the size of a model, of a binary, and for an engine's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, replace
from typing import TypeVar

from trimtab.errors import BudgetError
from trimtab.results.footprint import Footprint
from trimtab.tables import Column, Table, number

T = TypeVar("T")


@dataclass(frozen=True)
class Budget:
    """Limits in bytes; None: unlimited. `memory_bytes` covers all that an engine holds at once:
    activations and scratch memory, prepared weights, and the mapped model file.
    """

    model_bytes: int | None = None
    binary_bytes: int | None = None
    memory_bytes: int | None = None

    def __bool__(self) -> bool:
        return any(limit is not None for limit in astuple(self))

    def usage(self, footprint: Footprint) -> list[tuple[str, int, int]]:
        """The option of each limit, the limit, and the footprint's figure where it is known."""
        rows = [
            ("--max-model-bytes", self.model_bytes, footprint.model_bytes),
            ("--max-binary-bytes", self.binary_bytes, footprint.binary_bytes),
            ("--max-memory", self.memory_bytes, footprint.memory_bytes),
        ]
        return [
            (option, limit, figure)
            for option, limit, figure in rows
            if limit is not None and figure is not None
        ]

    def exceeded(self, footprint: Footprint) -> list[tuple[str, int, int]]:
        """The rows of `usage` that are over their limit."""
        return [row for row in self.usage(footprint) if row[2] > row[1]]

    def choose(
        self, candidates: Iterable[tuple[T, Footprint]], binary_bytes: Callable[[T], int]
    ) -> tuple[T, Footprint]:
        """The first candidate within all limits; `binary_bytes` builds a binary, and is called only
        if binaries are limited.

        BudgetError, with every candidate's figures, if none fits.
        """
        rejected = []
        for candidate, footprint in candidates:
            if self.binary_bytes is not None:
                footprint = replace(footprint, binary_bytes=binary_bytes(candidate))  # noqa: PLW2901
            if not self.exceeded(footprint):
                return candidate, footprint
            rejected.append(footprint)
        raise self._error(rejected)

    def _error(self, rejected: list[Footprint]) -> BudgetError:
        nearest = min(rejected, key=self._excess)
        over = [f"{n - limit:,} bytes over {option}" for option, limit, n in self.exceeded(nearest)]
        return BudgetError(
            f"nothing fits; {nearest.what} comes nearest, {' and '.join(over)}\n\n"
            f"{self._table(rejected).text()}\n",
            hint="raise a limit; docs/size.md describes what else reduces a model or a binary",
        )

    def _excess(self, footprint: Footprint) -> float:
        return max(figure / limit for _, limit, figure in self.exceeded(footprint))

    def _table(self, rejected: list[Footprint]) -> Table:
        """Each candidate's figures, and their excess over the limits."""
        columns = [Column("bytes")]
        for option, limit, _ in self.usage(rejected[0]):
            columns += [number(f"{option} {limit:,}", ","), number("over", ",", absent="fits")]
        rows = []
        for footprint in rejected:
            row: list[str | int | None] = [footprint.what]
            for _, limit, figure in self.usage(footprint):
                row += [figure, max(0, figure - limit) or None]
            rows.append(row)
        return Table(columns, rows)
