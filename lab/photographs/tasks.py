"""Compares the boxes of detectors on photographs with those of a reference pipeline."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class PhotographsOptions:
    """Options of `bench.photographs`."""

    models: str = option("folder of the networks' folders", "")
    update: bool = option("write the figures to lab/photographs/", False)


@command(PhotographsOptions, engine=True)
def photographs(options: PhotographsOptions) -> None:
    """Compare the boxes of detectors on 30 photographs with those of OpenCV's pipeline."""
    from pathlib import Path

    from lab import committed
    from lab.photographs import measure, pictures
    from trimtab import paths, tables
    from trimtab.cli._progress import shown

    images = list(pictures.photographs(paths.cache() / "photographs"))
    models = Path(options.models)
    figures = [one for name in measure.NETWORKS for one in measure.compare(name, models, images)]
    print(tables.text([measure.table(figures)]))
    if options.update:
        line = "./inv bench.photographs --models FOLDER --update"
        shown().note(f"written: {committed.write(measure.NAME, measure.to_results(figures, line))}")
