"""Tables of size reports."""

from __future__ import annotations

from dataclasses import replace

from trimtab.size import report
from trimtab.size.report import SizeReport, Symbol


def of(name: str, **groups: int) -> SizeReport:
    total = sum(groups.values())
    named = {f"op:{op}": n for op, n in groups.items()}
    return SizeReport(name, total, total, {".text": total}, named, ())


def test_parts_of_several_binaries_are_ordered_by_their_largest_size_in_any() -> None:
    first, last = of("first", conv=10, relu=60, pad=30), of("last", conv=90, relu=20, pool=5)
    (operators,) = (t for t in report.tables([first, last]) if t.columns[0].header == "operator")
    assert operators.rows == [
        ["conv", 10, 90, 9.0],
        ["relu", 60, 20, 20 / 60],
        ["pad", 30, 0, 0.0],
        ["pool", 0, 5, None],  # the first has none
        ["total", 100, 115, 1.15],
    ]


def test_the_largest_symbols_of_each_binary_have_a_table_of_their_own() -> None:
    symbols = tuple(Symbol(f"f{n}", n, "core:x") for n in (9, 7, 5))
    reports = [replace(of("first", conv=1), symbols=symbols), of("last", conv=2)]
    without, shown = report.tables(reports), report.tables(reports, symbols=2)
    assert len(shown) == len(without) + 2
    assert [table.columns[-1].header for table in shown[-2:]] == [
        *("symbol of first", "symbol of last"),
    ]
    assert shown[-2].rows == [(9, "core:x", "f9"), (7, "core:x", "f7")]
