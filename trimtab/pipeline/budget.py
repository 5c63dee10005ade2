"""Budgets: what a model, a binary and the memory of an engine may take at most."""

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
    """Bytes at most; None: as many as it takes. `memory_bytes` is for what an engine holds at once:
    activations and scratch memory, weights that it prepares, and the model file, all of it mapped.
    """

    model_bytes: int | None = None
    binary_bytes: int | None = None
    memory_bytes: int | None = None

    def __bool__(self) -> bool:
        return any(limit is not None for limit in astuple(self))

    def measured(self, way: Footprint) -> list[tuple[str, int, int]]:
        """The option of each limit, the limit, and what a way takes of it, where that is known."""
        rows = [
            ("--max-model-bytes", self.model_bytes, way.model_bytes),
            ("--max-binary-bytes", self.binary_bytes, way.binary_bytes),
            ("--max-memory", self.memory_bytes, way.memory_bytes),
        ]
        return [
            (option, limit, taken)
            for option, limit, taken in rows
            if limit is not None and taken is not None
        ]

    def exceeded(self, way: Footprint) -> list[tuple[str, int, int]]:
        """Those of `measured` that a way does not keep."""
        return [row for row in self.measured(way) if row[2] > row[1]]

    def choose(
        self, ways: Iterable[tuple[T, Footprint]], weigh_binary: Callable[[T], int]
    ) -> tuple[T, Footprint]:
        """The first of the ways that keeps all limits. Binaries are built (`weigh_binary`) only
        where they have a limit. BudgetError, which tells how near each comes, when none does.
        """
        tried = []
        for plan, way in ways:
            if self.binary_bytes is not None:
                way = replace(way, binary_bytes=weigh_binary(plan))  # noqa: PLW2901
            if not self.exceeded(way):
                return plan, way
            tried.append(way)
        raise self._error(tried)

    def _error(self, tried: list[Footprint]) -> BudgetError:
        nearest = min(tried, key=lambda way: max(n / limit for _, limit, n in self.exceeded(way)))
        over = [f"{n - limit:,} bytes over {option}" for option, limit, n in self.exceeded(nearest)]
        return BudgetError(
            f"nothing fits; {nearest.what} comes nearest, {' and '.join(over)}\n\n"
            f"{self._table(tried).text()}\n",
            hint="raise a limit; docs/size.md says what else makes a model or a binary smaller",
        )

    def _table(self, tried: list[Footprint]) -> Table:
        """What each way takes, and what it is over."""
        columns = [Column("bytes")]
        for option, limit, _ in self.measured(tried[0]):
            columns += [number(f"{option} {limit:,}", ","), number("over", ",", absent="fits")]
        rows = []
        for way in tried:
            row: list[str | int | None] = [way.what]
            for _, limit, taken in self.measured(way):
                row += [taken, max(0, taken - limit) or None]
            rows.append(row)
        return Table(columns, rows)
