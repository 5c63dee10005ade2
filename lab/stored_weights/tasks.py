"""Measures the bytes of model files by the stored form of weights."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import CheckedOptions
from trimtab.cli._command import command, group, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class StoredOptions:
    """Options of `bench.stored`."""

    network: tuple[str, ...] = option("network of the zoo (repeatable; default: 20 of them)", ())
    results: CheckedOptions = group(CheckedOptions)


@command(StoredOptions, engine=True)
def stored(options: StoredOptions) -> None:
    """Compare the bytes of model files by the stored form of their weights."""
    from lab.experiment import TaskRun
    from lab.stored_weights import measure

    run = TaskRun(measure.STORED, options)
    names = run.chosen("network", measure.NETWORKS)
    rows = [*measure.measure(names, run.progress)]
    run.finish(rows)
