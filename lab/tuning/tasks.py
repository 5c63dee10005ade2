"""Tunes a list of networks on this machine, and shows where the rules lose."""

from __future__ import annotations

from invoke.context import Context

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine

NAMESPACE = "bench"


@task(
    iterable=["folder"],
    help={
        "networks": "file with a network per line; it is written first if it does not exist",
        "folder": "folder of .onnx files for that list (repeatable), besides the zoo",
        "threads": "threads of a session",
        "minutes": "limit of the search of each network",
        "timings": "file of timings, read and extended",
        "output": "JSON file of the figures, written after each network; read to continue",
        "update": "write the figures of these networks to lab/tuning/",
    },
)
@needs_engine
def tuning(
    _: Context,
    networks: str,
    folder: list[str],
    threads: int = 1,
    minutes: float = 1.0,
    timings: str = "results/timings.jsonl",
    output: str = "results/tuning.json",
    update: bool = False,
) -> None:
    """Tune a list of networks in this process: tuned beside untuned, and which rules lose."""
    import os
    from pathlib import Path

    from lab import committed
    from lab.machine import MachineMonitor
    from lab.tuning import measure
    from trimtab import tables
    from trimtab.cli._progress import shown

    path, monitor = Path(networks), MachineMonitor()
    if not path.is_file():
        measure.write_list(path, [Path(name) for name in folder])
    rows = measure.tune_all(
        measure.read_list(path), threads, minutes, Path(timings), Path(output), shown()
    )
    print(tables.text(measure.page(rows)))
    if update:
        isa = os.environ.get("TRIMTAB_ISA", "")
        line = f"./inv bench.tuning --networks {path.name} --threads {threads} --minutes {minutes}"
        line = f"TRIMTAB_ISA={isa} {line}" if isa else line
        results = measure.to_results(rows, f"{line} --update", monitor.facts())
        print(f"written: {committed.write(measure.result_name(threads, isa), results)}")
