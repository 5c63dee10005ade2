"""The result of measuring a binary, as data, JSON and table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tabulate import tabulate

_SHOWN_SYMBOLS = 40


@dataclass(frozen=True)
class Symbol:
    """A function or object: its demangled name, size in the file, and the part it belongs to."""

    name: str
    bytes: int
    group: str


@dataclass(frozen=True)
class SizeReport:
    """Where the bytes of a file go.

    `sections` and `groups` each sum to `file_bytes`, the size of the file: what no section holds
    is `(headers)` and `(padding)` in `sections`. `memory_bytes` is what the loader maps,
    zero-initialised data included. `groups` has the parts that `trimtab.size.owner` lists, largest
    first; `symbols`, largest first, is empty when there is no unstripped twin.
    """

    name: str
    file_bytes: int
    memory_bytes: int
    sections: dict[str, int]
    groups: dict[str, int]
    symbols: tuple[Symbol, ...]

    def total(self, prefix: str) -> int:
        """Bytes of all parts of one kind, e.g. `op` or `kernel`."""
        return sum(n for group, n in self.groups.items() if group.partition(":")[0] == prefix)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, with the largest symbols."""
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


def table(reports: Sequence[SizeReport], symbols: int = 0) -> str:
    """Sections and parts of one or several binaries side by side, then the largest symbols of each.

    With two or more, the last column is the last binary's share of the first one's bytes.
    """
    parts = [_rows(reports, [r.sections for r in reports], "section")]
    kinds = [{kind: r.total(kind) for kind in _kinds(r)} for r in reports]
    parts.append(_rows(reports, kinds, "part"))
    for kind, title in (
        ("op", "operator"),
        ("kernel", "kernel"),
        ("shared", "shared by operators"),
    ):
        chosen = [
            {g.partition(":")[2]: n for g, n in r.groups.items() if g.startswith(f"{kind}:")}
            for r in reports
        ]
        if any(chosen):
            parts.append(_rows(reports, chosen, title))
    for report in reports if symbols else ():
        rows = [[f"{s.bytes:,}", s.group, s.name[:90]] for s in report.symbols[:symbols]]
        header = ["bytes", "part", f"symbol of {report.name}"]
        parts.append(
            tabulate(
                rows, header, "simple", colalign=("right", "left", "left"), disable_numparse=True
            )
        )
    return "\n\n".join(parts) + "\n"


def _kinds(report: SizeReport) -> list[str]:
    return list(dict.fromkeys(group.partition(":")[0] for group in report.groups))


def _rows(reports: Sequence[SizeReport], columns: Sequence[dict[str, int]], title: str) -> str:
    names = sorted(
        {name for column in columns for name in column},
        key=lambda n: (-max(c.get(n, 0) for c in columns), n),
    )
    rows = {name: [column.get(name, 0) for column in columns] for name in names}
    rows["total"] = [sum(column.values()) for column in columns]
    text = [[name, *(f"{n:,}" for n in numbers)] for name, numbers in rows.items()]
    header = [title, *(report.name for report in reports)]
    if len(reports) > 1:
        header.append("last / first")
        for line, numbers in zip(text, rows.values(), strict=True):
            line.append(f"{numbers[-1] / numbers[0]:.2f}" if numbers[0] else "")
    alignment = ("left", *["right"] * (len(header) - 1))
    return tabulate(text, header, "simple", colalign=alignment, disable_numparse=True)
