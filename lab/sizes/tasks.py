"""Measures the size of trimmed runners and model files."""

from __future__ import annotations

from invoke.context import Context

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine

NAMESPACE = "bench"


@task(
    iterable=["network", "cpu"],
    help={
        "network": "zoo network, or a profile of all operators: `full`, `float32` (repeatable; "
        "default: all)",
        "cpu": "only targets with this core (repeatable; default: all)",
        "json": "print JSON",
        "code": "instead: code bytes of each operator and kernel, the input of the cost model",
        "check": "fail when a figure is more than 2 % above the committed one",
        "update": "write the figures to lab/sizes/; takes no --network and no --cpu",
    },
)
@needs_engine
def sizes(
    _: Context,
    network: list[str],
    cpu: list[str],
    json: bool = False,
    code: bool = False,
    check: bool = False,
    update: bool = False,
) -> None:
    """Measure the size of trimmed runners and model files of the zoo, for several targets."""
    from lab import committed
    from lab.sizes import figures
    from lab.sizes.measure import measure_code, measure_runners
    from trimtab import zoo
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError

    if update and (network or cpu):
        raise UsageError("an update writes all sizes", hint="leave out --network and --cpu")
    progress = shown(quiet=json)
    if code:
        code_bytes = measure_code(progress)
        table = figures.code_table(code_bytes)
        print(table.json() if json else table.text())
        if update:
            figures.commit_code(code_bytes)
        if check:
            figures.check_code(code_bytes)
        return
    runners = measure_runners(network or [*zoo.names(), *figures.PROFILES], cpu, progress)
    table = figures.table(runners)
    print(table.json() if json else table.text())
    results = figures.to_results(runners, "./inv bench.sizes --update")
    committed.hold(figures.BASELINE, results, check, update, progress)
