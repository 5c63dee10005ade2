"""Tunes a list of networks on this machine, and shows where the rules lose."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import OutputOptions
from trimtab.cli._command import argument, command, group, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class TunedNetworksOptions:
    """Options of `bench.tuning`."""

    networks: str = argument(
        "file with a network per line; it is written first if it does not exist"
    )
    folder: tuple[str, ...] = option(
        "folder of .onnx files for that list (repeatable), besides the zoo", ()
    )
    threads: int = option("threads of a session", 1)
    minutes: float = option("limit of the search of each network", 1.0)
    timings: str = option("file of timings, read and extended", "results/timings.jsonl")
    output: str = option(
        "JSON file of the figures, written after each network; read to continue",
        "results/tuning.json",
    )
    results: OutputOptions = group(OutputOptions)


@command(TunedNetworksOptions, engine=True)
def tuning(options: TunedNetworksOptions) -> None:
    """Tune a list of networks in this process: tuned beside untuned, and which rules lose."""
    from pathlib import Path

    from lab.experiment import TaskRun
    from lab.machine import isa
    from lab.tuning import measure

    run = TaskRun(measure.experiment(options.threads, isa()), options)
    path = Path(options.networks)
    if not path.is_file():
        measure.write_list(path, [Path(name) for name in options.folder])
    figures = measure.tune_all(
        measure.read_list(path),
        options.threads,
        options.minutes,
        Path(options.timings),
        Path(options.output),
        run.progress,
    )
    run.finish([measure.TuningRow.of(one) for one in figures], measure.page(figures))
