"""Runs ONNX's own test suites."""

from __future__ import annotations

from dataclasses import dataclass

from invoke.exceptions import Exit

from lab.options import OutputOptions
from trimtab.cli._command import command, group, option


@dataclass(frozen=True, kw_only=True)
class ConformanceOptions:
    """Options of `conformance`."""

    suite: tuple[str, ...] = option(
        "only this one: node, pytorch-converted, pytorch-operator, light (repeatable)", ()
    )
    keyword: str = option("only tests whose name contains this")
    verbose: bool = option("print the reason of each test that did not pass", False)
    results: OutputOptions = group(OutputOptions)


@command(ConformanceOptions, engine=True)
def conformance(options: ConformanceOptions) -> None:
    """Run ONNX's own tests: passed, unsupported or wrong (the exit code is 1 if any is wrong)."""
    from dataclasses import asdict

    from lab.conformance import suites
    from lab.experiment import TaskRun

    run = TaskRun(suites.CONFORMANCE, options)
    chosen = suites.cases(options.suite or suites.SUITES)
    tests = [test for test in chosen if options.keyword in test.name]
    outcomes = []
    with run.progress.step("run ONNX's own tests", "tests") as step:
        for done, test in enumerate(tests, 1):
            outcomes.append(suites.run(test))
            step.update(done, len(tests), f"{test.suite} {test.name}")
    rows = suites.rows(outcomes)
    wrong = [outcome for outcome in outcomes if outcome.status == suites.WRONG]
    others = [outcome for outcome in outcomes if outcome.status != suites.PASSED]
    reasons = "\n".join(
        f"{outcome.status}: {outcome.suite} {outcome.name}: {outcome.reason}"
        for outcome in (others if options.verbose else wrong)
    )
    page = suites.tables(rows)
    page = [*page, reasons] if reasons else page
    run.finish(rows, page, json=[asdict(outcome) for outcome in outcomes])
    if wrong:
        raise Exit(code=1)
