"""Measures loading and planning beside onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option
from trimtab.cli._options import WAIT_HELP, parse_wait

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class LoadingOptions:
    """Options of `bench.loading`."""

    network: tuple[str, ...] = option(
        "network of the zoo, `yolov8n` or `vit_tiny` (repeatable; default: those with a bar)", ()
    )
    rounds: int = option("creations of each kind, in interleaved rounds", 7)
    wait: str = option(WAIT_HELP, bare=True)
    json: bool = option("print JSON", False)
    update: bool = option("write the figures to lab/loading/; takes no --network", False)


@command(LoadingOptions, engine=True)
def loading(options: LoadingOptions) -> None:
    """Measure loading and planning beside onnxruntime: CPU time, with and without cache, memory."""
    from dataclasses import asdict

    from lab import committed
    from lab.exclusive import exclusive
    from lab.loading import measure
    from lab.machine import MachineMonitor
    from trimtab import strict_json, tables
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError

    if options.update and options.network:
        raise UsageError("an update writes all networks with a bar", hint="leave out --network")
    if unknown := sorted({*options.network} - {*measure.names()}):
        hint = f"use {', '.join(measure.names())}"
        raise UsageError(f"unknown networks: {', '.join(unknown)}", hint=hint)
    progress, monitor = shown(quiet=options.json), MachineMonitor()
    with exclusive("bench.loading", parse_wait(options.wait), progress):
        figures = measure.measure(options.network or [*measure.BARS], options.rounds, progress)
    page = [measure.table(figures), measure.alone_table(figures)]
    if options.json:
        print(strict_json.dumps([asdict(of_one) for of_one in figures], indent=1))
    else:
        print(tables.text(page))
    if options.update:
        line = f"./inv bench.loading --rounds {options.rounds} --update"
        results = measure.to_results(figures, line, monitor.facts())
        progress.note(f"written: {committed.write(measure.NAME, results)}")
