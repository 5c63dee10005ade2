"""Measures networks on the machine of a CI job, beside other engines, against a history."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import TimedOptions, names_in, thread_counts
from trimtab.cli._command import command, group, option
from trimtab.cli._options import parse_wait

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class SiliconOptions:
    """Options of `bench.silicon`."""

    models: str = option("comma-separated ONNX files or zoo networks; default: the whole zoo")
    precisions: str = option("comma-separated precisions: f32, f16, int8", "f32")
    threads: str = option("comma-separated thread counts", "1")
    rounds: int = option("rounds of inferences of each engine on each network", 10)
    python: str = option(
        "interpreter that has the other engines (lab/silicon/peers.py makes it); default: none"
    )
    folder: str = option(
        "folder for copies of the networks, where NET.tflite and NET.pte may be already; default: "
        "in the cache"
    )
    gather: bool = option("only write the networks into --folder", False)
    minutes: float = option("a network that would begin later is left out", 8.0)
    history: str = option("committed history to compare with: a file of JSON lines")
    tolerance: float = option("share by which a ratio to the fastest engine may be worse", 0.15)
    append: bool = option("add the figures to --history", False)
    output: str = option("also write the tables to this Markdown file")
    results: TimedOptions = group(TimedOptions)

    def validate(self) -> None:
        """UsageError for values that cannot be measured."""
        from lab.silicon.measure import PRECISIONS
        from trimtab.errors import UsageError

        for name in self.precisions.split(","):
            if name not in PRECISIONS:
                hint = f"use {', '.join(PRECISIONS)}"
                raise UsageError(f"unknown precision {name!r}", hint=hint)
        if self.rounds < 1 or self.minutes <= 0 or self.tolerance < 0:
            raise UsageError("--rounds and --minutes must be above 0, --tolerance at least 0")
        if self.append and not self.history:
            raise UsageError("--append adds to a history", hint="--history FILE")


@command(SiliconOptions, engine=True, short_options=False)
def silicon(options: SiliconOptions) -> None:
    """Build, check and time networks here, beside other engines, and compare with a history."""
    from datetime import UTC, datetime
    from pathlib import Path

    from lab.experiment import TaskRun
    from lab.silicon import gate, report
    from lab.silicon.measure import SiliconPlan, gathered, measure
    from trimtab import files, paths, zoo
    from trimtab.errors import RunnerError
    from trimtab.pipeline.resolve import model_path

    run = TaskRun(report.SILICON, options)
    cache = paths.cache() / "silicon"
    names = names_in(options.models) or zoo.names()
    history = Path(options.history) if options.history else None
    core = str(run.machine()["core"])
    before = gate.last(history, core) if history else {}
    models = gathered(
        [model_path(name, progress=run.progress) for name in names],
        Path(options.folder) if options.folder else cache / "networks",
    )
    if options.gather:
        print("\n".join(map(str, models)))
        return
    plan = SiliconPlan(
        models,
        options.precisions.split(","),
        thread_counts(options.threads),
        options.rounds,
        options.python,
        options.minutes,
        cache / "results",
        parse_wait(options.results.wait),
    )
    measured = measure(plan, cache / "peers", run.progress)
    facts = run.machine()
    now = gate.entry(core, datetime.now(UTC).date().isoformat(), measured.rows)
    worsened = list(gate.worse(before, now, options.tolerance))
    if options.output:
        files.write_text(Path(options.output), report.comment(measured, facts, worsened))
    if options.append and history and not measured.failed:
        gate.append(history, now)
    run.finish(
        measured.rows,
        report.page(measured, facts, worsened),
        versions=measured.versions,
        notes=[f"left out: {reason}" for reason in (*measured.failed, *measured.left_out)],
    )
    if measured.failed:
        raise RunnerError("; ".join(measured.failed), hint="./inv explain NET shows layers")
    if history:
        gate.check(worsened, history)
