"""Measures single operators and short chains, drawn by seed, beside other engines."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import TimedOptions, thread_counts
from trimtab.cli._command import command, group, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class OperatorsOptions:
    """Options of `bench.operators`."""

    cases: int = option("operators and chains to draw", 300)
    seed: int = option("seed of the draw", 1)
    kind: str = option("only the cases with this word in their names or operators")
    threads: str = option("comma-separated thread counts", "1")
    rounds: int = option("blocks of inferences of each engine on each case", 10)
    python: str = option("interpreter that has the peers; default: this one")
    output: str = option("also write the table to this Markdown file")
    results: TimedOptions = group(TimedOptions)


@command(OperatorsOptions, engine=True)
def operators(options: OperatorsOptions) -> None:
    """Measure single operators and short chains beside onnxruntime and OpenVINO."""
    import sys
    from contextlib import ExitStack

    from lab.experiment import TaskRun
    from lab.operators import measure
    from lab.operators.draw import draw

    run = TaskRun(measure.OPERATORS, options)
    drawn = draw(options.cases, options.seed, run.progress)
    drawn = [case for case in drawn if options.kind in f"{case.name} {case.kind}"]
    running, versions = measure.engines(options.python or sys.executable)
    rows, left_out = [], []
    with run.exclusive(), ExitStack() as stack:
        for engine in running:
            stack.callback(engine.close)
        for threads in thread_counts(options.threads):
            more = measure.measure(drawn, running, threads, options.rounds, run.progress)
            rows += more[0]
            left_out += more[1]
    notes = [f"left out: {reason}" for reason in dict.fromkeys(left_out)]
    run.finish(
        rows,
        [*measure.page(rows), "\n".join(notes)],
        output=options.output,
        versions=versions,
        notes=notes,
    )
