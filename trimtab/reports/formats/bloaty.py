"""CSV as printed by `bloaty --csv -d compileunits`: the bytes of a binary by part.

Parts (an operator, a kernel, libc, ...) stand in place of compile units.

    compileunits,vmsize,filesize
    op:conv,500,500

Several runs have an additional first column, as with `bloaty -d inputfiles,compileunits`. `vmsize`
covers the contents of the file: `.bss` occupies no bytes there, and belongs to no part.
Source: https://github.com/google/bloaty/blob/main/doc/using.md
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab import escape
from trimtab.compare.side_by_side import Comparison
from trimtab.errors import UsageError
from trimtab.paths import PROGRAM
from trimtab.reports import exchange
from trimtab.results.summary import Summary

SUFFIX = ".csv"
IS_WHOLE = False

_NOT_LOADED = frozenset({"elf", "symbols"})  # parts of trimtab.size.owner without memory


def run(summary: Summary) -> str:
    """The parts of a binary, largest first. Raises UsageError if the record lacks them."""
    return _parts([summary])


def comparison(comparison: Comparison) -> str:
    """The parts of each binary; errors as in `run`."""
    return _parts(comparison.runs)


def _parts(runs: Sequence[Summary]) -> str:
    is_many = len(runs) > 1
    sources = ["inputfiles", "compileunits"] if is_many else ["compileunits"]
    rows: list[list[object]] = [[*sources, "vmsize", "filesize"]]
    for name, summary in exchange.named(runs):
        if not summary.groups:
            raise UsageError(
                f"the record of {summary.name} has no sizes of parts",
                where=summary.path,
                hint=f"measure a build of {PROGRAM} bench or {PROGRAM} build",
            )
        for part, size in sorted(summary.groups.items(), key=lambda item: (-item[1], item[0])):
            loaded = 0 if part in _NOT_LOADED else size
            rows.append([*([name] if is_many else []), part, loaded, size])
    return escape.csv_document(rows)
