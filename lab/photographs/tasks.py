"""Compares the boxes of detectors on photographs with those of a reference pipeline."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import OutputOptions
from trimtab.cli._command import command, group, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class PhotographsOptions:
    """Options of `bench.photographs`."""

    models: str = option("folder of the networks' folders", "")
    results: OutputOptions = group(OutputOptions)


@command(PhotographsOptions, engine=True)
def photographs(options: PhotographsOptions) -> None:
    """Compare the boxes of detectors on 30 photographs with those of OpenCV's pipeline."""
    from pathlib import Path

    from lab.experiment import TaskRun
    from lab.photographs import measure, pictures
    from trimtab import paths

    run = TaskRun(measure.PHOTOGRAPHS, options)
    images = list(pictures.photographs(paths.cache() / "photographs"))
    models = Path(options.models)
    run.finish([row for name in measure.NETWORKS for row in measure.compare(name, models, images)])
