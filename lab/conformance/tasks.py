"""Runs ONNX's own test suites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from invoke.context import Context
from invoke.exceptions import Exit

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine

if TYPE_CHECKING:
    from lab.conformance.suites import Outcome


@task(
    iterable=["suite"],
    help={
        "suite": "only this one: node, pytorch-converted, pytorch-operator, light (repeatable)",
        "keyword": "only tests whose name contains this",
        "verbose": "print the reason of each test that did not pass",
        "json": "print all outcomes as JSON",
        "update": "write the figures to lab/conformance/; takes no --suite and no --keyword",
    },
)
@needs_engine
def conformance(
    _: Context,
    suite: list[str],
    keyword: str = "",
    verbose: bool = False,
    json: bool = False,
    update: bool = False,
) -> None:
    """Run ONNX's own tests: passed, unsupported or wrong (the exit code is 1 if any is wrong)."""
    from lab import committed
    from lab.conformance import suites
    from trimtab import tables
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError

    if update and (suite or keyword):
        raise UsageError("an update writes all outcomes", hint="leave out --suite and --keyword")
    tests = [c for c in suites.cases(suite or suites.SUITES) if keyword in c.name]
    outcomes = []
    with shown(quiet=json).step("run ONNX's own tests", "tests") as step:
        for done, test in enumerate(tests, 1):
            outcomes.append(suites.run(test))
            step.update(done, len(tests), f"{test.suite} {test.name}")
    wrong = [outcome for outcome in outcomes if outcome.status == suites.WRONG]
    if json:
        _print_json(outcomes)
    else:
        print(tables.text(suites.tables(outcomes)))
        shown_outcomes = [o for o in outcomes if o.status != suites.PASSED] if verbose else wrong
        for outcome in shown_outcomes:
            print(f"{outcome.status}: {outcome.suite} {outcome.name}: {outcome.reason}")
    if update:
        results = suites.to_results(outcomes, "./inv conformance --update")
        path = committed.write(suites.NAME, results)
        print(f"written: {path}")
    if wrong:
        raise Exit(code=1)


def _print_json(outcomes: list[Outcome]) -> None:
    import dataclasses

    from trimtab import strict_json

    print(strict_json.dumps([dataclasses.asdict(outcome) for outcome in outcomes], indent=1))
