"""Fits cores to this machine, and keeps what their choices cost on layers that were held out."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option
from trimtab.cli._options import WAIT_HELP, parse_wait

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class RegretOptions:
    """Options of `bench.regret`."""

    cpus: str = option(
        "comma-separated cores whose instructions this machine has; default: its own"
    )
    threads: int = option("threads besides one; default: all cores", 0)
    wait: str = option(WAIT_HELP, bare=True)
    json: bool = option("print JSON", False)
    update: bool = option("write the figures to lab/regret/", False)


@command(RegretOptions, engine=True)
def regret(options: RegretOptions) -> None:
    """Fit cores to this machine: the time of the planner's choices by that of the fastest ways."""
    import tempfile
    from pathlib import Path

    from lab import committed
    from lab.machine import MachineMonitor
    from lab.regret import measure
    from trimtab import strict_json, tables
    from trimtab.bench.jobs import Settings
    from trimtab.cli._progress import shown
    from trimtab.devices.control import Control
    from trimtab.fitting.fit import FitRequest, fit
    from trimtab.target import Target

    settings = Settings(control=Control(wait_s=parse_wait(options.wait)))
    progress, monitor = shown(quiet=options.json), MachineMonitor()
    rows = []
    for cpu in options.cpus.split(","):
        with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
            request = FitRequest(
                device="local",
                cpu=cpu,
                toolchain=f"{Target.host().arch}-linux-musl" if cpu else "",  # builds for a core
                threads=options.threads,
                control=settings.control,
                results=Path(folder),
            )
            rows += measure.rows(fit(request, progress))
    print(strict_json.dumps(rows) if options.json else tables.text([measure.table(rows)]))
    if options.update:
        words = ["./inv bench.regret", *[f"--cpus {options.cpus}"] * bool(options.cpus)]
        words += [f"--threads {options.threads}"] * bool(options.threads)
        results = measure.to_results(rows, " ".join([*words, "--update"]), monitor.facts())
        progress.note(f"written: {committed.write(measure.NAME, results)}")
