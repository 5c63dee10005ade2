"""Measured configurations: the newest run of each, with its cost and size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.reports import fmt
from trimtab.results.records import CHOICES, Status
from trimtab.results.summary import Figure, Summary, Unit
from trimtab.tables import Column, Table, number

# The facts that distinguish configurations, in the order of a page's form.
FACTS = ("model", "device", *CHOICES, "plan", "profile", "toolchain", "cpu", "threads")

INACCURATE = "inaccurate"


@dataclass(frozen=True)
class Configuration:
    """One measured configuration.

    `cost` is the run's main figure, in `unit`; `load`: that of loading in words; `cosine`: of the
    outputs with those of float32, None if unknown. `href` is the address of the run's page, "" for
    none. `flaw` is why its outputs are not good enough, "" if they are, or nobody knows. `cell` are
    all axes of a sweep's cell, empty for other runs. A network with another shape
    of its inputs has another `model` in `facts`: neither is better than the other.
    """

    run_id: str
    time: str
    facts: Mapping[str, str]
    cost: float
    unit: Unit
    shipped_bytes: int
    href: str = ""
    flaw: str = ""
    cell: tuple[tuple[str, str], ...] = ()
    load: str = ""
    cosine: float | None = None


def configuration_of(run: Summary, base: str = "") -> Configuration | None:
    """The configuration of a run; None if the run failed or has no figures.

    The page of the run is at `base` + its id, if there is a `base`.
    """
    figure, shipped = run.headline, run.figure("shipped_bytes")
    is_complete = run.status.is_measured or run.status is Status.THROTTLED
    if not is_complete or figure is None or shipped is None:
        return None
    header, axes = run.header, run.header.cell
    facts = (
        " ".join(filter(None, (header.model.name.split(".")[0], str(axes.get("input") or "")))),
        header.device.name,
        *(header.choices.get(name, "") for name in CHOICES),
        str(axes.get("plan") or ""),
        *(header.profile, header.toolchain, header.cpu, str(header.protocol.get("threads", 1))),
    )
    return Configuration(
        header.run_id,
        header.time,
        dict(zip(FACTS, facts, strict=True)),
        figure.value,
        figure.unit,
        round(shipped.value),
        base and base + header.run_id,
        _flaw(run),
        tuple(sorted((axis, str(value)) for axis, value in axes.items())),
        _in_words(load) if (load := run.figure("load") or run.figure("load_instructions")) else "",
        run.accuracy.cosine if run.accuracy else None,
    )


def _in_words(figure: Figure) -> str:
    unit = " instructions" if figure.unit is Unit.INSTRUCTIONS else ""
    return fmt.value(figure.value, figure.unit) + unit


def _flaw(run: Summary) -> str:
    """Why nobody should ship what a run measured: its outputs on the device, or the accuracy of its
    network, are beyond their bounds.
    """
    if run.status is Status.INACCURATE:
        return run.message
    accuracy = run.accuracy
    return accuracy.verdict(run.budget) if accuracy and accuracy.failed(run.budget) else ""


def configurations_of(runs: Sequence[Summary], base: str = "") -> list[Configuration]:
    """The newest run of each configuration, smallest first; `base` as in `configuration_of`.

    A sweep's cell is the same configuration at every commit. Other runs do not record all of their
    options, so that those of other sizes are other configurations.
    """
    newest: dict[tuple[object, ...], Configuration] = {}
    for one in filter(None, (configuration_of(run, base) for run in runs)):
        key = (*one.facts.values(), one.cell or one.shipped_bytes)
        if key not in newest or newest[key].time < one.time:
            newest[key] = one
    return sorted(newest.values(), key=lambda one: (one.shipped_bytes, one.cost))


def failures(runs: Sequence[Summary]) -> list[str]:
    """A sentence for each run that is no configuration: its id, and why it has no result."""
    return [
        f"Run {run.header.run_id} of {run.name} ended with {run.status}"
        + (f": {run.message}" if run.message else ".")
        for run in runs
        if not configuration_of(run)
    ]


def warnings(runs: Sequence[Summary]) -> list[str]:
    """A sentence for each run whose times are not steady."""
    return [
        f"Run {run.header.run_id} of {run.name}: {run.unsteadiness}"
        for run in runs
        if run.unsteadiness and configuration_of(run)
    ]


def pareto_front(measured: Sequence[Configuration]) -> list[Configuration]:
    """The configurations without a flaw that no other one of them beats in both cost and size.

    Only configurations of the same network, device and unit are compared.
    """
    best: dict[tuple[str, str, str], float] = {}
    front = []
    for one in sorted(measured, key=lambda one: (one.shipped_bytes, one.cost)):
        key = (one.facts["model"], one.facts["device"], one.unit)
        if not one.flaw and one.cost < best.get(key, float("inf")):
            best[key] = one.cost
            front.append(one)
    return front


def present_facts(measured: Sequence[Configuration]) -> list[str]:
    """The facts that any of the configurations has."""
    return [fact for fact in FACTS if any(one.facts[fact] for one in measured)]


def overview(measured: Sequence[Configuration]) -> Table:
    """Networks by devices: the least cost without a flaw, with its bytes, and the facts in which
    configurations differ; empty where there is none.
    """
    models, devices = ([*dict.fromkeys(one.facts[of] for one in measured)] for of in FACTS[:2])
    best: dict[tuple[str, str], Configuration] = {}
    for one in sorted(measured, key=lambda one: one.cost):
        if not one.flaw:
            best.setdefault((one.facts["model"], one.facts["device"]), one)
    differing = [
        fact
        for fact in FACTS[2:]
        if len({one.facts[fact] for one in measured}) > 1 or fact == "precision"
    ]
    rows = [
        (model, *(_brief(best.get((model, device)), differing) for device in devices))
        for model in sorted(models)
    ]
    return Table([Column("fastest"), *map(number, devices)], rows, "Networks and devices")


def _brief(run: Configuration | None, facts: Sequence[str]) -> str:
    if run is None:
        return ""
    words = {"weights": "{} weights", "threads": "threads: {}", "prefer": "prefer {}"}
    words |= {"accuracy": "accuracy {}"}
    chosen = [words.get(fact, "{}").format(run.facts[fact]) for fact in facts if run.facts[fact]]
    unit = " M instr." if run.unit is Unit.INSTRUCTIONS else ""
    cost = f"{run.cost / 1e6:,.4g}" if unit else fmt.value(run.cost, run.unit)
    return ", ".join([f"{cost}{unit}", f"{run.shipped_bytes / 1e6:,.3g} MB", *chosen])


def table(measured: Sequence[Configuration]) -> Table:
    """One row per configuration; those of the Pareto front, and those with a flaw, are marked."""
    best, shown = {one.run_id for one in pareto_front(measured)}, present_facts(measured)
    rows = [
        (
            "best" if one.run_id in best else one.flaw and INACCURATE,
            *(one.facts[fact] for fact in shown),
            fmt.value(one.cost, one.unit)
            + (" instructions" if one.unit is Unit.INSTRUCTIONS else ""),
            *details(one),
        )
        for one in measured
    ]
    columns = [*map(Column, ("", *shown)), number("one inference"), *DETAILS]
    return Table(columns, rows, "Configurations")


DETAILS = (number("shipped"), number("load"), number("cosine"), Column("run"))


def details(run: Configuration) -> tuple[str, str, str, str]:
    """The cells of `DETAILS`."""
    cosine = "" if run.cosine is None else f"{run.cosine:.6f}"
    return fmt.value(run.shipped_bytes, Unit.BYTES), run.load, cosine, run.run_id
