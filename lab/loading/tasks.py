"""Measures loading and planning beside onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import TimedOptions
from trimtab.cli._command import command, group, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class LoadingOptions:
    """Options of `bench.loading`."""

    network: tuple[str, ...] = option(
        "network of the zoo, or `yolov8n` (repeatable; default: those with a bar)", ()
    )
    rounds: int = option("creations of each kind, in interleaved rounds", 7)
    results: TimedOptions = group(TimedOptions)


@command(LoadingOptions, engine=True)
def loading(options: LoadingOptions) -> None:
    """Measure loading and planning beside onnxruntime: CPU time, with and without cache, memory."""
    from lab.experiment import TaskRun
    from lab.loading import measure

    run = TaskRun(measure.LOADING, options)
    chosen = run.chosen("network", measure.names()) if options.network else [*measure.BARS]
    with run.exclusive():
        rows = measure.measure(chosen, options.rounds, run.progress)
    run.finish(rows, measure.tables(rows))
