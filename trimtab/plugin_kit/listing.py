"""The parts of all plug-ins, as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from trimtab import kernels, passes, plugins, reports, schema
from trimtab.errors import TrimtabError
from trimtab.importers._parsers import parsers
from trimtab.tables import Column, Table

# The rooms that check their modules themselves.
_MODULES: dict[str, Callable[[], Iterable[Any]]] = {
    "passes": lambda: passes.passes().values(),
    "reports": lambda: map(reports.find, reports.names()),
}


def table() -> Table:
    """One row per part of a plug-in: room, name and description; then one per excluded plug-in,
    with the reason.
    """
    rows: list[tuple[str, str, str, str]] = []
    for plugin in plugins.active():
        own = [row for room in plugins.ROOMS for row in _room(plugin, room)]
        rows += [(plugin.name, *row) for row in own] or [(plugin.name, "", "", "nothing")]
        rows.append((plugin.name, "from", str(plugin.folder), plugin.origin))
    rows += [("", "left out", error.where, error.what) for error in plugins.excluded().values()]
    return Table([Column(head) for head in ("plug-in", "room", "name", "what")], rows)


def _room(plugin: plugins.Plugin, room: str) -> list[tuple[str, str, str]]:
    try:
        if room == "ops":
            ops = [
                op for op in schema.operators().values() if op.path.parent == plugin.folder / room
            ]
            return [(room, op.name, op.doc) for op in ops]
        if room == "kernels":
            own_kernels = [k for k in kernels.inventory().values() if k.is_of(plugin)]
            return [(room, kernel.name, f"for {kernel.isa}") for kernel in own_kernels]
        if room == "importers":
            own = [p for p in parsers() if plugins.owner(p.parse.__module__) == plugin]
            return [(room, f"{p.framework} {p.origin}", f"makes {', '.join(p.ops)}") for p in own]
        files = plugin.files(room)
        if files and room in _MODULES:
            modules = [module.__name__ for module in _MODULES[room]()]
            theirs = [name for name in modules if plugins.owner(name) == plugin]
            return [(room, name.rpartition(".")[2], "") for name in theirs]
        return [(room, path.stem, "") for path in files]
    except TrimtabError as error:
        return [(room, "", f"error: {error}")]
