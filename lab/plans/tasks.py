"""Estimates the plans of the zoo's networks with the cost model."""

from __future__ import annotations

from invoke.context import Context

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine

NAMESPACE = "bench"


@task(
    iterable=["network"],
    help={
        "network": "zoo network (repeatable; default: all)",
        "json": "print JSON",
        "check": "fail when a figure is more than 2 % above the committed one",
        "update": "write the figures to lab/plans/; takes no --network",
    },
)
@needs_engine
def plans(
    _: Context,
    network: list[str],
    json: bool = False,
    check: bool = False,
    update: bool = False,
) -> None:
    """Estimate the zoo's plans by the cost model, beside fixed choices of algorithms."""
    from lab import committed
    from lab.plans import estimates
    from trimtab import zoo
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError

    if update and network:
        raise UsageError("an update writes all estimates", hint="leave out --network")
    progress = shown(quiet=json)
    estimated = estimates.estimate_zoo(network or zoo.names(), progress)
    table = estimates.table(estimated)
    print(table.json() if json else table.text())
    results = estimates.to_results(estimated, "./inv bench.plans --update")
    committed.hold(estimates.BASELINE, results, check, update, progress)
