"""Figures of a comparison with the peers, as rows, tables and JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lab import waiting
from lab.committed import Baseline
from lab.experiment import Experiment, FigureRow, figure_row
from lab.peers.compare import US, PeerComparison, PeersRow
from trimtab import escape
from trimtab.reports.card import peers_table
from trimtab.results.peer_figures import PeerFigure
from trimtab.tables import Column, Page, Table, number

DEVICE = "peers/on-"  # and the device's name and the precision
OTHER_RESULT = 0.5
"""An error, relative to the largest output, that no rounding explains, of int8 values either."""
_FOLDERS = {
    "exports": "EXPORTS",
    "pnnx": "PEERS/bin/pnnx",
    "onnx2tf": "onnx2tf",
    "python": "PEERS/bin/python",
}


def experiment(name: str) -> Experiment[PeersRow]:
    """The comparison with peers on this machine whose result file is `name`."""
    return Experiment("bench.peers", name, PeersRow, is_timed=True, stand_ins=_FOLDERS)


EXPERIMENTS = {"f32": experiment("peers"), "int8": experiment("peers/int8")}
"""The experiment of each precision of networks."""
PEERS = EXPERIMENTS["f32"]


def suite_experiment(isa: str, of: str = "list") -> Experiment[PeersRow]:
    """The comparison on the suite of the file `of`.toml, limited to the instruction set `isa` or
    "". Its tables can be measured one by one.
    """
    suite = "suite" if of == "list" else of
    name = f"peers/{suite}-{isa}" if isa else f"peers/{suite}"
    baseline = Baseline(name, ("network", "engine", "threads"), ())
    return replace(experiment(name), selection=("tables",), baseline=baseline)


@dataclass(frozen=True)
class Against:
    """The divisor of trimtab's figures: the smallest figure of all peers, or of those named."""

    title: str
    names: tuple[str, ...] = ()

    def among(self, engines: Iterable[str]) -> set[str]:
        """The `engines` to compare with."""
        return {name for name in engines if (name in self.names if self.names else name != US)}


@dataclass(frozen=True)
class FigureKind:
    """A figure to compare engines by; smaller is better."""

    title: str
    of: Callable[[PeersRow], float]
    form: str
    against: Against | None


_BEST = Against("the best peer")
MEDIAN = FigureKind("Median milliseconds of an inference", lambda f: f.median_ms, ".2f", _BEST)
MINIMUM = FigureKind("Minimum milliseconds of an inference", lambda f: f.minimum_ms, ".2f", _BEST)
START = FigureKind(
    "Milliseconds of loading and the first inference",
    lambda f: f.start_ms,
    ".1f",
    Against("onnxruntime", ("onnxruntime",)),
)
PEAK = FigureKind(
    "Peak resident megabytes, weights included",
    lambda f: f.peak_bytes / 1e6,
    ".1f",
    Against("the leanest peer"),
)
MEMORY = FigureKind(
    "Peak resident megabytes beyond the weights",
    lambda f: f.beyond_weights_bytes / 1e6,
    ".1f",
    _BEST,
)
SHIPPED = FigureKind(
    "Megabytes of model files, as an engine's own converter makes them",
    lambda f: f.shipped_bytes / 1e6,
    ".2f",
    Against("the smallest peer"),
)
ERROR = FigureKind(
    "Largest error, relative to the largest magnitude of the output",
    lambda f: f.error,
    ".0e",
    None,
)


def _millions(count: float | None) -> float | None:
    return None if count is None else count / 1e6


def facts(comparison: PeerComparison) -> dict[str, Any]:
    """The figures with the samples they come from, for JSON."""
    rows = [{**asdict(row), **row.record()} for row in comparison.results]
    versions = dict(comparison.versions)
    return {"versions": versions, "left_out": comparison.left_out, "results": rows}


def page(comparison: PeerComparison) -> Page:
    """One table per figure, how busy the machine was, and the reasons for missing results."""
    parts: list[str | Table] = [*_tables(comparison.results, comparison.versions)]
    parts += _busy(comparison.results)
    if comparison.left_out:
        parts.append(Table([Column("reason")], [[why] for why in comparison.left_out], "Left out"))
    return parts


def suite_page(comparison: PeerComparison) -> Page:
    """Median times and ratios, per number of threads, and the reasons for missing results."""
    measured = comparison.results
    parts: list[str | Table] = []
    for threads in sorted({figures.threads for figures in measured}):
        title = f"{MEDIAN.title}, {threads} thread{'s' * (threads > 1)}"
        engines = {name: name for name in comparison.versions}
        parts.append(table(MEDIAN, measured, threads, engines, title))
    parts += _busy(measured)
    if comparison.left_out:
        parts.append(Table([Column("reason")], [[why] for why in comparison.left_out], "Left out"))
    return parts


def _busy(measured: Sequence[PeersRow]) -> list[str]:
    by_case = {(row.network, row.threads): row.waited for row in measured}
    sentence = waiting.sentence([*by_case.values()], "cases")
    return [sentence] if sentence else []


def _tables(measured: Sequence[PeersRow], versions: Mapping[str, str]) -> Iterator[Table]:
    engines = {name: f"{name} {version}" for name, version in versions.items()}
    counts = sorted({f.threads for f in measured})
    for threads in counts:
        end = f", {threads} thread{'s' * (threads > 1)}"
        for kind in (MEDIAN, MINIMUM):
            yield table(kind, measured, threads, engines, kind.title + end)
    for kind in (START, PEAK, MEMORY, SHIPPED, ERROR):
        yield table(kind, measured, counts[0], engines, kind.title)
    if len(counts) > 1:
        title = f"Speed-up from {counts[0]} to {counts[-1]} threads"
        yield speed_ups(measured, counts[0], counts[-1], engines, title)


def table(
    kind: FigureKind,
    measured: Iterable[PeersRow],
    threads: int,
    engines: Mapping[str, str],
    title: str = "",
) -> Table:
    """One row per network and one column per engine; `engines` maps names to column headers.

    Kinds that compare add trimtab's ratios and their geometric mean.
    """
    columns = [Column("network"), *(number(h, kind.form, absent="-") for h in engines.values())]
    rows: list[list[str | float | None]] = []
    ratios = ratios_of(kind, measured := list(measured), threads)
    for network, results in _by_network(measured, threads).items():
        values = {name: kind.of(result) for name, result in results.items()}
        rows.append([network, *map(values.get, engines)])
        if kind.against:
            rows[-1].append(ratios.get(network))
    if kind.against:
        columns.append(number(f"ratio to {kind.against.title}", ".2f", absent="-"))
        rows.append(["geometric mean", *[""] * len(engines), geometric_mean(ratios.values())])
    return Table(columns, rows, title)


def speed_ups(
    measured: Sequence[PeersRow], few: int, many: int, engines: Mapping[str, str], title: str = ""
) -> Table:
    """The speed-up of each engine from `few` to `many` threads."""
    slow, fast = _by_network(measured, few), _by_network(measured, many)
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


def ratios_of(kind: FigureKind, measured: Iterable[PeersRow], threads: int) -> dict[str, float]:
    """trimtab's figure divided by the smallest peer's, for networks with both.

    Peers with other results do not count: those with an error above `OTHER_RESULT`.
    """
    ratios = {}
    right = [row for row in measured if row.engine == US or row.error <= OTHER_RESULT]
    for network, results in _by_network(right, threads).items():
        values = {name: kind.of(row) for name, row in results.items()}
        peers = [values[name] for name in kind.against.among(values)] if kind.against else []
        if peers and US in values and min(peers) > 0:
            ratios[network] = values[US] / min(peers)
    return ratios


def _by_network(measured: Iterable[PeersRow], threads: int) -> dict[str, dict[str, PeersRow]]:
    """Figures with that number of threads, by network and engine."""
    networks: dict[str, dict[str, PeersRow]] = {}
    for row in measured:
        if row.threads == threads:
            networks.setdefault(row.network, {})[row.engine] = row
    return networks


def geometric_mean(ratios: Iterable[float]) -> float | None:
    """Geometric mean of the ratios other than 0; None without any."""
    logs = [math.log(ratio) for ratio in ratios if ratio]
    return math.exp(sum(logs) / len(logs)) if logs else None


@figure_row
class DeviceRow(FigureRow, PeerFigure):
    """A row of a device's result file."""


def device_experiment(device: str, precision: str) -> Experiment[DeviceRow]:
    """The comparison on a device, whose instructions may not grow."""
    name = f"{DEVICE}{device}-{precision}"
    keys = ("network", "engine", "threads")
    return Experiment(
        "bench.peers",
        name,
        DeviceRow,
        selection=("models",),
        baseline=Baseline(name, keys, ("trimtab_instructions",)),
        stand_ins=_FOLDERS,
    )


def instructions_table(figures: Sequence[PeerFigure], classes: Mapping[str, str]) -> Table:
    """Millions of instructions of each engine by network, and trimtab's ratio to each, with the
    geometric mean of every class of `classes`, which maps networks to classes.
    """
    networks: dict[str, dict[str, PeerFigure]] = {}
    for row in figures:
        networks.setdefault(row.network, {})[row.engine.split()[0]] = row
    engines = list(dict.fromkeys(row.engine.split()[0] for row in figures))
    columns = [Column("network"), Column("class")]
    columns += [number(name, ".1f", absent="-") for name in (*engines, US)]
    columns += [number(f"{US} : {name}", ".2f", absent="-") for name in engines]
    rows: list[list[str | float | None]] = []
    for network, by_engine in networks.items():
        ours = next(iter(by_engine.values())).trimtab_instructions
        counts = [_millions(by_engine[n].instructions) if n in by_engine else None for n in engines]
        ratios = [by_engine[n].ratio if n in by_engine else None for n in engines]
        rows.append([network, classes.get(network, ""), *counts, _millions(ours), *ratios])
    for name in dict.fromkeys([*classes.values()]):
        of_class = [cells for cells in rows if cells[1] == name]
        means = [
            geometric_mean(ratio for cells in of_class if isinstance(ratio := cells[index], float))
            for index in range(len(engines) + 3, 2 * len(engines) + 3)
        ]
        if of_class:
            rows.append(["geometric mean", name, *[None] * (len(engines) + 1), *means])
    return Table(columns, rows)


def device_page(figures: Sequence[PeerFigure], left_out: Sequence[str]) -> Page:
    """The figures of a device, and the reasons why engines are missing."""
    missing = "\n".join(escape.line(f"not measured: {reason}") for reason in left_out)
    return [peers_table(figures), *([missing] if missing else [])]
