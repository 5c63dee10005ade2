"""Model files of published packages beside their own runtimes."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option


@dataclass(frozen=True, kw_only=True)
class FormatsOptions:
    """Options of `formats`."""

    fetch: bool = option("download packages of lab/formats/packages.toml that are missing", False)
    folder: str = option("folder of the packages' model files; default: in the cache")
    json: bool = option("print JSON", False)
    update: bool = option("write the outcomes to lab/formats/", False)


@command(FormatsOptions, engine=True)
def formats(options: FormatsOptions) -> None:
    """Compare model files of published packages with their own runtimes."""
    from dataclasses import asdict
    from pathlib import Path

    from lab import committed
    from lab.formats import fetch, measure
    from lab.formats.page import outcome_tables
    from trimtab import paths, strict_json, tables
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError

    progress = shown(quiet=options.json)
    root = Path(options.folder) if options.folder else paths.cache() / "formats"
    failed = fetch.fetch(root, progress) if options.fetch else {}
    outcomes = measure.measure(root, progress)
    if not outcomes:
        raise UsageError("there are no model files", where=str(root), hint="download them: --fetch")
    if options.json:
        print(strict_json.dumps([asdict(outcome) for outcome in outcomes], indent=1))
    else:
        print(tables.text(outcome_tables(outcomes)))
    for package, reason in failed.items():
        progress.note(f"not fetched: {package.title}: {reason}")
    if options.update:
        results = measure.to_results(outcomes, failed, "./inv formats --fetch --update")
        progress.note(f"written: {committed.write(measure.NAME, results)}")
