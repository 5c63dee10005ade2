"""The size report of a binary, as data, JSON and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.tables import Column, Table, number

_SHOWN_SYMBOLS = 40


@dataclass(frozen=True)
class Symbol:
    """A function or object: its demangled name, its size in the file, and its part."""

    name: str
    bytes: int
    group: str


@dataclass(frozen=True)
class SizeReport:
    """The bytes of a file by section, part and symbol.

    `sections` and `groups` each sum to `file_bytes`; bytes outside of sections are `(headers)` and
    `(padding)` in `sections`. `memory_bytes` is the size of the loaded sections, including
    zero-initialized data. `groups` holds the parts of `trimtab.size.owner`, largest first.
    `symbols`, largest first, is empty without an unstripped copy.
    """

    name: str
    file_bytes: int
    memory_bytes: int
    sections: dict[str, int]
    groups: dict[str, int]
    symbols: tuple[Symbol, ...]

    def total(self, prefix: str) -> int:
        """Bytes of all parts of one kind, such as `op` or `kernel`."""
        return sum(n for group, n in self.groups.items() if group.partition(":")[0] == prefix)

    def to_json(self) -> dict[str, Any]:
        """JSON values of the report, with the largest symbols."""
        return {
            "name": self.name,
            "file_bytes": self.file_bytes,
            "memory_bytes": self.memory_bytes,
            "sections": self.sections,
            "groups": self.groups,
            "symbols": [
                {"name": s.name, "bytes": s.bytes, "group": s.group}
                for s in self.symbols[:_SHOWN_SYMBOLS]
            ],
        }


def tables(reports: Sequence[SizeReport], symbols: int = 0) -> list[Table]:
    """Sections and parts of one or several binaries side by side, then the largest symbols of each.

    With two or more binaries, the last column is the ratio of the last one to the first.
    """
    result = [_side_by_side(reports, [r.sections for r in reports], "section")]
    kinds = [{kind: r.total(kind) for kind in _kinds(r)} for r in reports]
    result.append(_side_by_side(reports, kinds, "part"))
    for kind, title in (
        ("op", "operator"),
        ("kernel", "kernel"),
        ("core", "engine"),
        ("shared", "shared by operators"),
    ):
        chosen = [
            {g.partition(":")[2]: n for g, n in r.groups.items() if g.startswith(f"{kind}:")}
            for r in reports
        ]
        if any(chosen):
            result.append(_side_by_side(reports, chosen, title))
    for report in reports if symbols else ():
        columns = [number("bytes", ","), Column("part"), Column(f"symbol of {report.name}")]
        rows = [(s.bytes, s.group, s.name[:90]) for s in report.symbols[:symbols]]
        result.append(Table(columns, rows))
    return result


def _kinds(report: SizeReport) -> list[str]:
    return list(dict.fromkeys(group.partition(":")[0] for group in report.groups))


def _side_by_side(
    reports: Sequence[SizeReport], parts: Sequence[dict[str, int]], title: str
) -> Table:
    names = sorted(
        {name for part in parts for name in part},
        key=lambda n: (-max(p.get(n, 0) for p in parts), n),
    )
    sizes = {name: [part.get(name, 0) for part in parts] for name in names}
    sizes["total"] = [sum(part.values()) for part in parts]
    columns = [Column(title), *(number(report.name, ",") for report in reports)]
    rows: list[list[Any]] = [[name, *numbers] for name, numbers in sizes.items()]
    if len(reports) > 1:
        columns.append(number("last / first", ".2f"))
        for row in rows:
            row.append(row[-1] / row[1] if row[1] else None)
    return Table(columns, rows)
