"""The part of a page with the committed estimates of plans."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import block
from lab.docs.sentences import made_by
from lab.plans.estimates import BASELINE
from trimtab.tables import Column, Page, Table, number


@block
def plan_estimates() -> Page:
    """Time and traffic of plans relative to the fixed rule, by network, core and threads."""
    rows = committed.read(BASELINE.name).rows
    ratios: dict[str, dict[str, str]] = {}
    for row in rows:
        machine = f"{row['cpu'].removeprefix('cortex-').upper()}, {row['threads']}"
        time, traffic = (row[key] / row[f"was_{key}"] for key in ("mcycles", "mbytes"))
        ratios.setdefault(row["network"], {})[machine] = f"{time:.2f} ({traffic:.2f})"
    machines = list(next(iter(ratios.values())))
    return [
        made_by(BASELINE.name),
        "Estimated time, and in brackets memory traffic, of the operators with weights, relative "
        "to algorithms chosen by shape alone, by core and number of threads:",
        Table(
            [Column("network"), *map(number, machines)],
            [(network, *map(by_machine.get, machines)) for network, by_machine in ratios.items()],
        ),
    ]
