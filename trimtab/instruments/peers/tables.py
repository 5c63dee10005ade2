"""What a comparison with the peers says: tables of ratios, and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from tabulate import tabulate

from trimtab.instruments.peers.compare import US, Comparison, Result

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


def to_text(comparison: Comparison, style: str = "simple") -> str:
    """All tables in a style of tabulate: "simple" for terminals, "github" for Markdown."""
    mark = "## " if style == "github" else ""
    sections = [f"{mark}{title}\n\n{table}" for title, table in _tables(comparison, style)]
    if comparison.left_out:
        lines = "\n".join(f"- {reason}" for reason in comparison.left_out)
        sections.append(f"{mark}Left out\n\n{lines}")
    return "\n\n".join(sections)


def _tables(comparison: Comparison, style: str) -> Iterator[tuple[str, str]]:
    by_threads: dict[int, Networks] = {}
    for result in comparison.results:
        networks = by_threads.setdefault(result.threads, {})
        networks.setdefault(result.network, {})[result.engine] = result
    engines = [f"{name} {version}" for name, version in comparison.versions.items()]

    def table(networks: Networks, figure: Figure, shown: str, against: Against | None) -> str:
        """`shown` formats a figure; `against` adds a column of ratios and their geometric mean."""
        rows, ratios = [], []
        for network, results in networks.items():
            values = {name: figure(result) for name, result in results.items()}
            cells = [
                format(values[name], shown) if name in values else "-"
                for name in comparison.versions
            ]
            if against:
                ratios.append(_ratio(values, against))
                cells.append(_shown(ratios[-1]))
            rows.append([network, *cells])
        headers = ["network", *engines]
        if against:
            headers.append(f"ratio to {against.title}")
            rows.append(["geometric mean", *[""] * len(engines), _shown(geometric_mean(ratios))])
        return _tabulate(rows, headers, style)

    for threads, networks in by_threads.items():
        title = f"{threads} thread{'s' * (threads > 1)}"
        yield (
            f"Median milliseconds of an inference, {title}",
            table(networks, lambda r: r.median_ms, ".2f", _BEST),
        )
        yield (
            f"Minimum milliseconds of an inference, {title}",
            table(networks, lambda r: r.minimum_ms, ".2f", _BEST),
        )
    few, many = min(by_threads), max(by_threads)
    yield (
        "Milliseconds of loading and the first inference",
        table(by_threads[few], lambda r: r.start_ms, ".1f", _ONNXRUNTIME),
    )
    yield (
        "Peak resident megabytes beyond the weights",
        table(by_threads[few], lambda r: r.beyond_weights_bytes / 1e6, ".1f", _BEST),
    )
    yield (
        "Largest error, relative to the largest magnitude of the output",
        table(by_threads[few], lambda r: r.error, ".0e", None),
    )
    if few != many:
        rows = [
            [
                network,
                *(
                    _speed_up(e, few_results, by_threads[many][network])
                    for e in comparison.versions
                ),
            ]
            for network, few_results in by_threads[few].items()
        ]
        title = f"Speed-up from {few} to {many} threads"
        yield title, _tabulate(rows, ["network", *engines], style)


def _speed_up(engine: str, few: Mapping[str, Result], many: Mapping[str, Result]) -> str:
    if engine not in few or engine not in many:
        return "-"
    return _shown(few[engine].median_ms / many[engine].median_ms)


def _tabulate(rows: list[list[str]], headers: list[str], style: str) -> str:
    align = ("left", *["right"] * (len(headers) - 1))
    return tabulate(rows, headers, style, disable_numparse=True, colalign=align)


def _ratio(values: Mapping[str, float], against: Against) -> float:
    """trimtab's figure by the smallest of the peers' that count; nan when there is none."""
    peers = [value for name, value in values.items() if name in against.among(values)]
    if not peers or US not in values or min(peers) <= 0:
        return math.nan
    return values[US] / min(peers)


def geometric_mean(ratios: Sequence[float]) -> float:
    """Of those that are numbers; nan when none is."""
    logs = [math.log(ratio) for ratio in ratios if ratio > 0]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def _shown(ratio: float) -> str:
    return "-" if math.isnan(ratio) else f"{ratio:.2f}"
