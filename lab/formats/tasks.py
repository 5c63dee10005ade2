"""Model files of published packages beside their own runtimes."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import OutputOptions
from trimtab.cli._command import command, group, option


@dataclass(frozen=True, kw_only=True)
class FormatsOptions:
    """Options of `formats`."""

    fetch: bool = option("download packages of lab/formats/packages.toml that are missing", False)
    folder: str = option("folder of the packages' model files; default: in the cache")
    results: OutputOptions = group(OutputOptions)


@command(FormatsOptions, engine=True)
def formats(options: FormatsOptions) -> None:
    """Compare model files of published packages with their own runtimes."""
    from pathlib import Path

    from lab.experiment import TaskRun
    from lab.formats import fetch, measure
    from trimtab import paths
    from trimtab.errors import UsageError

    run = TaskRun(measure.FORMATS, options)
    root = Path(options.folder) if options.folder else paths.cache() / "formats"
    failed = fetch.fetch(root, run.progress) if options.fetch else {}
    rows = measure.measure(root, run.progress)
    if not rows:
        raise UsageError("there are no model files", where=str(root), hint="download them: --fetch")
    missing = [f"not fetched: {package.title}: {reason}" for package, reason in failed.items()]
    for line in missing:
        run.progress.note(line)
    run.finish(rows, measure.tables(rows), notes=missing)
