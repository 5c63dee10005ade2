"""Validation of the time model: published times of a peer on boards, and its simulated traffic.

`ncnn_boards.json` has minimum times of ncnn's benchmark on users' boards; `ncnn_traffic.json` has
the instructions and memory traffic of the same networks under the emulator.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lab import committed
from lab.committed import Row
from lab.time_model.figures import seconds
from lab.time_model.traffic import Traffic
from trimtab.cores import Memory

_BANDWIDTHS = 0.5 * 1.01 ** np.arange(470)  # GB/s, up to 53

Errors = Mapping[str, float]  # by network: modeled time over measured time, minus 1


@dataclass(frozen=True)
class BoardRun:
    """Errors of the model for one board and number of threads.

    `gb_per_s`: bandwidth fitted to this run; `errors`: with this bandwidth; `shared`: with one
    bandwidth fitted to all runs of the board; `instructions_alone`: of a model of instructions
    only, with a time per instruction fitted to this run.
    """

    board: str
    core: str
    threads: int
    gb_per_s: float
    errors: Errors
    shared: Errors
    instructions_alone: Errors


def median(errors: Errors) -> float:
    """The median of the absolute errors."""
    return statistics.median(map(abs, errors.values()))


def worst(errors: Errors) -> tuple[str, float]:
    """The network with the largest error, and the error."""
    return max(errors.items(), key=lambda item: abs(item[1]))


def compare() -> list[BoardRun]:
    """All board runs with simulated traffic. FileAccessError without committed files."""
    traffic = {_key(row): row for row in committed.read("time_model/ncnn_traffic").rows}
    boards: dict[str, dict[int, list[_Pair]]] = {}
    for row in committed.read("time_model/ncnn_boards").rows:
        if counts := traffic.get(_key(row)):
            runs = boards.setdefault(row["board"], {})
            runs.setdefault(row["threads"], []).append(_Pair(row, counts))
    return [
        _run(name, threads, own, [pair for pairs in runs.values() for pair in pairs])
        for name, runs in boards.items()
        for threads, own in runs.items()
    ]


@dataclass(frozen=True)
class _Pair:
    measured: Row
    counts: Row

    @property
    def network(self) -> str:
        return str(self.measured["network"])

    def error(self, gb_per_s: float) -> float:
        counts = self.counts
        moved = {name: counts[name] for name in ("cycles", "read_bytes", "written_bytes")}
        memory = Memory(self.measured["ghz"], gb_per_s)
        return float(seconds(Traffic(**moved), memory) * 1e3 / self.measured["ms"] - 1)


def _key(row: Row) -> tuple[str, str, int]:
    return row["core"], row["network"], row["threads"]


def _fitted(pairs: Sequence[_Pair]) -> float:
    """The bandwidth with the least sum of errors, which are linear in its reciprocal."""
    computing = np.array([pair.error(math.inf) for pair in pairs])
    moving = np.array([pair.error(1.0) for pair in pairs]) - computing
    sums = np.abs(computing + moving / _BANDWIDTHS[:, None]).sum(axis=1)
    return float(_BANDWIDTHS[sums.argmin()])


def _run(board: str, threads: int, pairs: Sequence[_Pair], of_board: Sequence[_Pair]) -> BoardRun:
    rate, shared = _fitted(pairs), _fitted(of_board)
    speeds = {pair.network: pair.counts["instructions"] / pair.measured["ms"] for pair in pairs}
    usual = statistics.median(speeds.values())
    return BoardRun(
        board=board,
        core=pairs[0].counts["core"],
        threads=threads,
        gb_per_s=rate,
        errors={pair.network: pair.error(rate) for pair in pairs},
        shared={pair.network: pair.error(shared) for pair in pairs},
        instructions_alone={network: speed / usual - 1 for network, speed in speeds.items()},
    )
