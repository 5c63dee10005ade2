"""Measures what `pip install trimtab` puts on a disk."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option

NAMESPACE = "package"


@dataclass(frozen=True, kw_only=True)
class PackageSizeOptions:
    """Options of `package.size`."""

    json: bool = option("print JSON", False)
    update: bool = option("write the figures to lab/package_size/", False)


@command(PackageSizeOptions)
def size(options: PackageSizeOptions) -> None:
    """Show the megabytes of an installed trimtab, by package."""
    from dataclasses import asdict

    from lab import committed
    from lab.package_size import measure
    from trimtab import strict_json, tables
    from trimtab.cli._progress import shown

    progress = shown(quiet=options.json)
    installed = measure.measure(progress)
    if options.json:
        print(strict_json.dumps([asdict(item) for item in installed], indent=1))
    else:
        print(tables.text([measure.table(installed)]))
    if options.update:
        results = measure.to_results(installed)
        progress.note(f"written: {committed.write(measure.NAME, results)}")
