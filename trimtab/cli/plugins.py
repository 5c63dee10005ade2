"""The list of plug-ins."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option

GROUP = "Plug-ins"


@dataclass(frozen=True, kw_only=True)
class PluginsOptions:
    """Options of `plugins`."""

    json: bool = option("print JSON", False)


@command(PluginsOptions)
def plugins(options: PluginsOptions) -> None:
    """List the active plug-ins and their parts, and the excluded ones with the reason."""
    from trimtab.plugin_kit import listing

    table = listing.table()
    print(table.json() if options.json else table.text())
