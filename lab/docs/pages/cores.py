"""The table of cores, from the files of `cores/`."""

from __future__ import annotations

import re

from lab.docs.generator import reference
from trimtab import cores
from trimtab.cores import Cache, Core
from trimtab.tables import Column, Page, Table, number


@reference("Cores")
def known_cores() -> Page:
    """One row per built-in core."""
    heads = ("core", "runs", "features", "L1d", "L2", "L3")
    columns = [*map(Column, heads), number("multiply-adds"), Column("in order"), Column("what")]
    ordered = sorted(cores.builtin(), key=_order)
    names = ", ".join(f"`{core.name}`" for core in ordered)
    return [f"{len(ordered)} cores: {names}.", Table(columns, [_row(core) for core in ordered])]


def _order(core: Core) -> list[tuple[str, int]]:
    """Sort key: names with numbers in numeric order, A9 before A53."""
    return [(word, int(part or 0)) for word, part in re.findall(r"(\D+)(\d*)", core.name)]


def _row(core: Core) -> tuple[object, ...]:
    own = next(iter(core.features))
    return (
        *(core.name, ", ".join(core.features), " ".join(sorted(core.features[own]))),
        *map(_size, (core.l1d, core.l2, core.l3)),
        *(core.pipes.f32_fmas_per_cycle, "yes" if core.pipes.in_order else "no", core.doc),
    )


def _size(cache: Cache | None) -> str:
    if cache is None:
        return ""
    kib = cache.bytes // 1024
    size = f"{kib // 1024} MB" if kib % 1024 == 0 else f"{kib} KB"
    return size if cache.shared_by == 1 else f"{size} for {cache.shared_by}"
