"""What a comparison with the peers says: a page of tables, and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

from trimtab.instruments.peers.compare import US, Comparison, Result
from trimtab.tables import Column, Page, Table, number

Figure = Callable[[Result], float]
Networks = dict[str, dict[str, Result]]  # by network and engine


@dataclass(frozen=True)
class Against:
    """Whom trimtab's figures are divided by: the best of the peers, or of those named."""

    title: str
    names: tuple[str, ...] = ()

    def among(self, engines: Iterable[str]) -> set[str]:
        """Those of `engines` that count."""
        return {name for name in engines if (name in self.names if self.names else name != US)}


_BEST = Against("the best peer")
_ONNXRUNTIME = Against("onnxruntime", ("onnxruntime",))


def to_json(comparison: Comparison) -> str:
    """Everything, raw samples included."""
    figures = ("median_ms", "minimum_ms", "start_ms", "beyond_weights_bytes", "error")
    rows = [{**asdict(r), **{f: getattr(r, f) for f in figures}} for r in comparison.results]
    facts = {"versions": dict(comparison.versions), "left_out": comparison.left_out}
    return json.dumps(facts | {"results": rows}, indent=1)


def page(comparison: Comparison) -> Page:
    """A table of each figure, and what was left out."""
    found = [*_tables(comparison)]
    if comparison.left_out:
        found.append(Table([Column("reason")], [[why] for why in comparison.left_out], "Left out"))
    return found


def _tables(comparison: Comparison) -> Iterator[Table]:
    by_threads: dict[int, Networks] = {}
    for result in comparison.results:
        networks = by_threads.setdefault(result.threads, {})
        networks.setdefault(result.network, {})[result.engine] = result
    engines = comparison.versions

    def table(
        title: str, networks: Networks, figure: Figure, form: str, against: Against | None
    ) -> Table:
        """`against` adds a column of ratios and their geometric mean."""
        columns = [Column("network"), *_columns(engines, form)]
        rows: list[list[str | float | None]] = []
        ratios = []
        for network, results in networks.items():
            values = {name: figure(result) for name, result in results.items()}
            rows.append([network, *map(values.get, engines)])
            if against:
                ratios.append(_ratio(values, against))
                rows[-1].append(ratios[-1])
        if against:
            columns.append(number(f"ratio to {against.title}", ".2f", absent="-"))
            rows.append(["geometric mean", *[""] * len(engines), geometric_mean(ratios)])
        return Table(columns, rows, title)

    for threads, networks in by_threads.items():
        end = f"milliseconds of an inference, {threads} thread{'s' * (threads > 1)}"
        yield table(f"Median {end}", networks, lambda r: r.median_ms, ".2f", _BEST)
        yield table(f"Minimum {end}", networks, lambda r: r.minimum_ms, ".2f", _BEST)
    few, many = min(by_threads), max(by_threads)
    title = "Milliseconds of loading and the first inference"
    yield table(title, by_threads[few], lambda r: r.start_ms, ".1f", _ONNXRUNTIME)
    title = "Peak resident megabytes beyond the weights"
    yield table(title, by_threads[few], lambda r: r.beyond_weights_bytes / 1e6, ".1f", _BEST)
    title = "Largest error, relative to the largest magnitude of the output"
    yield table(title, by_threads[few], lambda r: r.error, ".0e", None)
    if few != many:
        yield Table(
            [Column("network"), *_columns(engines, ".2f")],
            [
                [name, *(_speed_up(e, results, by_threads[many][name]) for e in engines)]
                for name, results in by_threads[few].items()
            ],
            f"Speed-up from {few} to {many} threads",
        )


def _columns(engines: Mapping[str, str], form: str) -> list[Column]:
    return [number(f"{name} {version}", form, absent="-") for name, version in engines.items()]


def _speed_up(engine: str, few: Mapping[str, Result], many: Mapping[str, Result]) -> float | None:
    if engine not in few or engine not in many:
        return None
    return few[engine].median_ms / many[engine].median_ms


def _ratio(values: Mapping[str, float], against: Against) -> float | None:
    """trimtab's figure by the smallest of the peers' that count; None when there is none."""
    peers = [value for name, value in values.items() if name in against.among(values)]
    if not peers or US not in values or min(peers) <= 0:
        return None
    return values[US] / min(peers)


def geometric_mean(ratios: Iterable[float | None]) -> float | None:
    """Of those that there are and that are not 0; None when none is."""
    logs = [math.log(ratio) for ratio in ratios if ratio]
    return math.exp(sum(logs) / len(logs)) if logs else None
