"""Fits cores to this machine, and keeps what their choices cost on layers that were held out."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import TimedOptions
from trimtab.cli._command import command, group, option
from trimtab.cli._options import parse_wait

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class RegretOptions:
    """Options of `bench.regret`."""

    cpus: str = option(
        "comma-separated cores whose instructions this machine has; default: its own"
    )
    threads: int = option("threads besides one; default: all cores", 0)
    results: TimedOptions = group(TimedOptions)


@command(RegretOptions, engine=True)
def regret(options: RegretOptions) -> None:
    """Fit cores to this machine: the time of the planner's choices by that of the fastest ways."""
    import tempfile
    from pathlib import Path

    from lab.experiment import TaskRun
    from lab.regret import measure
    from trimtab.devices.control import Control
    from trimtab.fitting.fit import FitRequest, fit
    from trimtab.target import Target

    run = TaskRun(measure.REGRET, options)
    rows = []
    for cpu in options.cpus.split(","):
        with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
            request = FitRequest(
                device="local",
                cpu=cpu,
                toolchain=f"{Target.host().arch}-linux-musl" if cpu else "",  # builds for a core
                threads=options.threads,
                control=Control(wait_s=parse_wait(options.results.wait)),
                results=Path(folder),
            )
            rows += measure.rows(fit(request, run.progress))
    run.finish(rows)
