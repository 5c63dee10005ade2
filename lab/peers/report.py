"""What a comparison with the peers says: figures, tables of them, and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lab.committed import Results, Row
from lab.peers.compare import US, Comparison, Result
from trimtab.tables import Column, Page, Table, number

NAMES = {"f32": "peers", "int8": "peers/int8"}  # of the committed results, by precision
NAME = NAMES["f32"]


@dataclass(frozen=True)
class Figures:
    """What counts of one engine on one network. `quartiles_ms`: half of the inferences took between
    these; `start_ms`: loading and the first inference; `error`: relative to the largest magnitude
    of an output; `peak_bytes`: of memory, weights included; `shipped_bytes`: of the model's files.
    None: not measured, or not kept.
    """

    network: str
    engine: str
    threads: int
    median_ms: float
    quartiles_ms: Sequence[float] | None
    minimum_ms: float | None
    start_ms: float | None
    beyond_weights_bytes: float | None
    error: float | None
    peak_bytes: float | None = None
    shipped_bytes: int | None = None

    @classmethod
    def of(cls, result: Result) -> Figures:
        """Those of all samples."""
        return cls(
            result.network,
            result.engine,
            result.threads,
            median_ms=round(result.median_ms, 4),
            quartiles_ms=[round(q / 1e6, 4) for q in np.percentile(result.run_ns, (25, 75))],
            minimum_ms=round(result.minimum_ms, 4),
            start_ms=round(result.start_ms, 3),
            beyond_weights_bytes=result.beyond_weights_bytes,
            error=float(f"{result.error:.2g}"),
            peak_bytes=result.peak_bytes,
            shipped_bytes=result.shipped_bytes,
        )


@dataclass(frozen=True)
class Against:
    """Whom trimtab's figures are divided by: the best of the peers, or of those named."""

    title: str
    names: tuple[str, ...] = ()

    def among(self, engines: Iterable[str]) -> set[str]:
        """Those of `engines` that count."""
        return {name for name in engines if (name in self.names if self.names else name != US)}


@dataclass(frozen=True)
class Kind:
    """A figure that engines are compared by; less is better."""

    title: str
    of: Callable[[Figures], float | None]
    form: str
    against: Against | None


_BEST = Against("the best peer")
MEDIAN = Kind("Median milliseconds of an inference", lambda f: f.median_ms, ".2f", _BEST)
MINIMUM = Kind("Minimum milliseconds of an inference", lambda f: f.minimum_ms, ".2f", _BEST)
START = Kind(
    "Milliseconds of loading and the first inference",
    lambda f: f.start_ms,
    ".1f",
    Against("onnxruntime", ("onnxruntime",)),
)
PEAK = Kind(
    "Peak resident megabytes, weights included",
    lambda f: _megabytes(f.peak_bytes),
    ".1f",
    Against("the leanest peer"),
)
MEMORY = Kind(
    "Peak resident megabytes beyond the weights",
    lambda f: _megabytes(f.beyond_weights_bytes),
    ".1f",
    _BEST,
)
SHIPPED = Kind(
    "Megabytes of model files, as an engine's own converter makes them",
    lambda f: _megabytes(f.shipped_bytes),
    ".2f",
    Against("the smallest peer"),
)
ERROR = Kind(
    "Largest error, relative to the largest magnitude of the output",
    lambda f: f.error,
    ".0e",
    None,
)


def _megabytes(count: float | None) -> float | None:
    return None if count is None else count / 1e6


def to_json(comparison: Comparison) -> str:
    """The figures, and the samples that they come from."""
    rows = [{**asdict(result), **asdict(Figures.of(result))} for result in comparison.results]
    facts = {"versions": dict(comparison.versions), "left_out": comparison.left_out}
    return json.dumps(facts | {"results": rows}, indent=1)


def to_results(comparison: Comparison, command: str, machine: Mapping[str, Any]) -> Results:
    """What is committed: the figures without the samples."""
    return Results(
        command=command,
        machine=machine,
        versions=comparison.versions,
        notes=[f"left out: {reason}" for reason in comparison.left_out],
        rows=[asdict(Figures.of(result)) for result in comparison.results],
    )


def figures(rows: Iterable[Row]) -> list[Figures]:
    """Committed figures; TypeError for rows of something else."""
    return [Figures(**row) for row in rows]


def page(comparison: Comparison) -> Page:
    """A table of each figure, and what was left out."""
    found = [*_tables([Figures.of(r) for r in comparison.results], comparison.versions)]
    if comparison.left_out:
        found.append(Table([Column("reason")], [[why] for why in comparison.left_out], "Left out"))
    return found


def _tables(found: Sequence[Figures], versions: Mapping[str, str]) -> Iterator[Table]:
    engines = {name: f"{name} {version}" for name, version in versions.items()}
    counts = sorted({f.threads for f in found})
    for threads in counts:
        end = f", {threads} thread{'s' * (threads > 1)}"
        for kind in (MEDIAN, MINIMUM):
            yield table(kind, found, threads, engines, kind.title + end)
    for kind in (START, PEAK, MEMORY, SHIPPED, ERROR):
        yield table(kind, found, counts[0], engines, kind.title)
    if len(counts) > 1:
        title = f"Speed-up from {counts[0]} to {counts[-1]} threads"
        yield speed_ups(found, counts[0], counts[-1], engines, title)


def table(
    kind: Kind, found: Iterable[Figures], threads: int, engines: Mapping[str, str], title: str = ""
) -> Table:
    """A row per network, a column per engine under the header that `engines` gives it, and, where
    trimtab is held against others, the ratios and their geometric mean.
    """
    columns = [Column("network"), *(number(h, kind.form, absent="-") for h in engines.values())]
    rows: list[list[str | float | None]] = []
    ratios = ratios_of(kind, found := list(found), threads)
    for network, results in _by_network(found, threads).items():
        values = {name: kind.of(result) for name, result in results.items()}
        rows.append([network, *map(values.get, engines)])
        if kind.against:
            rows[-1].append(ratios.get(network))
    if kind.against:
        columns.append(number(f"ratio to {kind.against.title}", ".2f", absent="-"))
        rows.append(["geometric mean", *[""] * len(engines), geometric_mean(ratios.values())])
    return Table(columns, rows, title)


def speed_ups(
    found: Sequence[Figures], few: int, many: int, engines: Mapping[str, str], title: str = ""
) -> Table:
    """How many times as fast each engine is with `many` threads as with `few`."""
    slow, fast = _by_network(found, few), _by_network(found, many)
    rows = [
        [
            network,
            *(
                slow[network][name].median_ms / fast[network][name].median_ms
                if name in slow[network] and name in fast.get(network, {})
                else None
                for name in engines
            ),
        ]
        for network in slow
    ]
    columns = [Column("network"), *(number(h, ".2f", absent="-") for h in engines.values())]
    return Table(columns, rows, title)


def ratios_of(kind: Kind, found: Iterable[Figures], threads: int) -> dict[str, float]:
    """trimtab's figure by the smallest of the peers' that count; of networks that have both."""
    ratios = {}
    for network, results in _by_network(found, threads).items():
        values = {n: value for n, f in results.items() if (value := kind.of(f)) is not None}
        peers = [values[name] for name in kind.against.among(values)] if kind.against else []
        if peers and US in values and min(peers) > 0:
            ratios[network] = values[US] / min(peers)
    return ratios


def _by_network(found: Iterable[Figures], threads: int) -> dict[str, dict[str, Figures]]:
    """By network and engine."""
    networks: dict[str, dict[str, Figures]] = {}
    for row in found:
        if row.threads == threads:
            networks.setdefault(row.network, {})[row.engine] = row
    return networks


def geometric_mean(ratios: Iterable[float]) -> float | None:
    """Of those that are not 0; None when none is."""
    logs = [math.log(ratio) for ratio in ratios if ratio]
    return math.exp(sum(logs) / len(logs)) if logs else None
