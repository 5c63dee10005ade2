"""Parts of pages from the committed comparison with other engines."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import lab
from lab import committed, waiting
from lab.docs.generator import reference
from lab.docs.sentences import listed, made_by
from lab.experiment import Experiment
from lab.peers import report, suite
from lab.peers.compare import PeersRow
from lab.peers.report import EXPERIMENTS, PEERS, FigureKind
from trimtab.tables import Page, Table


@reference("Beside other engines on x86")
def peers() -> Page:
    """Provenance, verdict, variation and errors, then times, memory and files of each engine."""
    provenance, *noise = _provenance(PEERS)
    few = min(_threads(PEERS.rows()))
    kinds = (report.START, report.PEAK, report.MEMORY, report.SHIPPED)
    tables = [part for kind in kinds for part in _table(kind, few)]
    return [provenance, _verdict(PEERS), *noise, *_inference(PEERS), *tables, *_speed_ups()]


@reference("int8 networks beside other engines on x86")
def peers_int8() -> Page:
    """Provenance, verdict and medians of int8 networks."""
    int8 = EXPERIMENTS["int8"]
    if not int8.is_measured():
        command = (
            "./inv bench.peers --precision int8 --threads 1,2 --python PEERS/bin/python --update"
        )
        return [f"Not measured yet: `{command}`."]
    return [*_provenance(int8), _verdict(int8), *_inference(int8)]


@reference("Exported networks beside other engines on x86")
def peers_suite() -> Page:
    """Provenance, verdict and medians of a suite of exported networks."""
    return _suite("")


@reference("Exported networks beside other engines with AVX2")
def peers_suite_avx2() -> Page:
    """The same, with trimtab limited to AVX2."""
    return _suite("avx2")


def _suite(isa: str) -> Page:
    suite_of = report.suite_experiment(isa)
    if not suite_of.is_measured():
        command = (
            "./inv bench.peers --suite lab/networks/list.toml --exports EXPORTS --threads 1,2"
            " --python PEERS/bin/python --update"
        )
        return [f"Not measured yet: `{f'TRIMTAB_ISA={isa} ' if isa else ''}{command}`."]
    return [*_provenance(suite_of), _verdict(suite_of), *_inference(suite_of)]


@reference("Drawn networks beside other engines on x86")
def peers_drawn() -> Page:
    """Provenance, verdicts by table of the list, and medians of the networks drawn by seed."""
    drawn = report.suite_experiment("", "drawn")
    if not drawn.is_measured():
        return ["Not measured yet: `./inv bench.peers --suite lab/networks/drawn.toml`."]
    tables = suite.classes(lab.FOLDER / "networks/drawn.toml")
    measured = drawn.rows()
    sentences = []
    for threads in _threads(measured):
        ratios = report.ratios_of(report.MEDIAN, measured, threads)
        parts: list[str] = []
        for title in dict.fromkeys(tables.values()):
            of_table = [ratio for name, ratio in ratios.items() if tables[name] == title]
            mean = report.geometric_mean(of_table)
            parts += [f"{mean:.3f} of the {len(of_table)} of `{title}`"] if mean else []
        mean = report.geometric_mean(ratios.values())
        sentences.append(
            f"With {_counted(threads)}, the geometric mean of {len(ratios)} ratios to the fastest "
            f"peer is {mean:.3f}: {listed(parts)}."
        )
    waited = {(row.network, row.threads): row.waited for row in measured}
    busy = waiting.sentence([*waited.values()], "cases")
    provenance, *noise = _provenance(drawn)
    verdicts = [*sentences, _verdict(drawn), *([busy] if busy else [])]
    return [provenance, *verdicts, *noise, *_inference(drawn)]


@reference("Instructions beside other engines on ARM")
def peers_on_devices() -> Page:
    """Instructions of each engine on emulated devices, and ratios by class of network."""
    classes = suite.classes(lab.FOLDER / "networks/arm.toml")
    means: list[str] = []
    page: list[str | Table] = []
    for path in sorted(committed.path_of(report.DEVICE).parent.glob("on-*.json")):
        device, _, precision = path.stem.removeprefix("on-").rpartition("-")
        experiment = report.device_experiment(device, precision)
        title = f"Millions of instructions of an inference in {precision}:"
        table = report.instructions_table(experiment.rows(), classes)
        page += [made_by(experiment.name), title, table]
        ratios = (f"{row[1]} {row[-1]:.2f}" for row in table.rows if row[0] == "geometric mean")
        means.append(
            f"Geometric means of {table.columns[-1].header}, {precision} on {device}: "
            f"{', '.join(ratios)}."
        )
    return [*means, *page]


def _speed_ups() -> Page:
    """Speed-up from more threads."""
    measured = PEERS.rows()
    few, *_, many = _threads(measured)
    table = report.speed_ups(measured, few, many, _engines(measured))
    return [f"Speed-up from {_counted(few)} to {_counted(many)}:", table]


def _table(
    kind: FigureKind, threads: int, end: str = "", of: Sequence[PeersRow] = ()
) -> list[str | Table]:
    measured = of or PEERS.rows()
    return [f"{kind.title}{end}:", report.table(kind, measured, threads, _engines(measured))]


def _provenance(experiment: Experiment[PeersRow]) -> Page:
    measured = experiment.rows()
    parts: list[str | Table] = [made_by(experiment.name)]
    spreads = [(f.quartiles_ms[1] - f.quartiles_ms[0]) / f.median_ms for f in measured]
    parts.append(
        f"The middle half of an engine's inferences on a network spans {median(spreads):.0%} of "
        f"their median ({max(spreads):.0%} at worst)."
    )
    worst = _worst_of_each(measured)
    return [*parts, f"The largest error of each engine, relative to the largest output: {worst}."]


def _worst_of_each(measured: Sequence[PeersRow]) -> str:
    """The largest error of each engine, with its network."""
    words = []
    for engine in _engines(measured):
        error, network = max((f.error, f.network) for f in measured if f.engine == engine)
        words.append(f"{engine} {error:.2g} ({network})")
    return ", ".join(words)


def _verdict(experiment: Experiment[PeersRow]) -> str:
    measured = experiment.rows()
    sentences = []
    for threads in _threads(measured):
        ratios = report.ratios_of(report.MEDIAN, measured, threads)
        slower = [f"{network} ({ratio:.2f})" for network, ratio in ratios.items() if ratio > 1]
        sentences.append(
            f"With {_counted(threads)}, {len(slower) or 'none'} of these {len(ratios)} networks "
            f"{'are' if len(slower) > 1 else 'is'} slower than with the fastest peer"
            + (f": {listed(slower)}." if slower else ".")
        )
    return " ".join(sentences)


def _inference(experiment: Experiment[PeersRow]) -> Page:
    measured = experiment.rows()
    return [
        part
        for n in _threads(measured)
        for part in _table(report.MEDIAN, n, f", {_counted(n)}", measured)
    ]


def _engines(measured: Sequence[PeersRow]) -> dict[str, str]:
    """Column headers; versions are in the provenance above the tables."""
    return {f.engine: f.engine for f in measured}


def _threads(measured: Sequence[PeersRow]) -> list[int]:
    return sorted({f.threads for f in measured})


def _counted(threads: int) -> str:
    return f"{threads} thread{'s' * (threads > 1)}"
