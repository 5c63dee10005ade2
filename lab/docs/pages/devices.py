"""The programs that a device needs, for docs/devices.md."""

from __future__ import annotations

from lab.docs.generator import block
from trimtab.devices.requirements import PROGRAMS
from trimtab.tables import Column, Markup, Page, Table


@block
def device_programs() -> Page:
    """Every program that trimtab calls on a device, and what happens without it."""
    rows = [
        (
            Markup(f"`{program.name}`"),
            Markup(program.use),
            program.package,
            Markup(program.without or "required"),
        )
        for program in PROGRAMS
    ]
    columns = ("program", "what it is for", "Debian package", "without it")
    return [Table([*map(Column, columns)], rows)]
