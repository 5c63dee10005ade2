"""Paced runs: missed deadlines, and the latency from a frame's arrival to its result, over time.

A result is due before the next frame arrives. A frame is missed if its result came later, or if a
newer frame overtook it before its inference began.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.results import statistics
from trimtab.results.records import Event, Record

EMULATED = (
    "The device is emulated: frames arrived by the clock of the emulator's machine, so neither "
    "latencies nor missed deadlines say anything about the device, and none are shown."
)
RULE = (
    "A frame is missed if its result came after the next frame had arrived, or if a newer frame "
    "overtook it. Energy is that of the whole run, waiting included, by frame with a result. "
    "The runner of a paced run contains the code that waits for frames; that of `build` does not."
)
_SPANS = 12
_MAX_FPS = 1000
_MAX_FRAMES = 3600 * _MAX_FPS * 2


@dataclass(frozen=True)
class PacedSpan:
    """A span of the run: frames with a result, and missed frames.

    `median_ns` and `max_ns` are None without a result. `mhz` and `celsius` are means, None if
    unknown.
    """

    begin_s: float
    end_s: float
    results: int
    missed: int
    median_ns: float | None
    max_ns: int | None
    mhz: float | None
    celsius: float | None


@dataclass(frozen=True)
class Paced:
    """A paced run; times are None under an emulator.

    `frames`: those that arrived, of which `dropped` have no result and `late` a late one.
    `p99_ns` is also None with too few frames. `cpu_ns`: CPU time of all threads by result, waiting
    included, and `busy_cores`: by time that passed; None in earlier records. `samples`: (second,
    MHz, degrees Celsius). `why`: why there are no more of those. `core_shares`: the share of time
    for which each core is busy, other programs included; empty if unknown.
    """

    fps: float
    seconds: float
    frames: int
    dropped: int | None
    late: int | None
    p50_ns: float | None
    p90_ns: float | None
    p99_ns: float | None
    max_ns: int | None
    spans: tuple[PacedSpan, ...]
    samples: tuple[tuple[float, float | None, float | None], ...]
    why: str = ""
    cpu_ns: float | None = None
    busy_cores: float | None = None
    core_shares: tuple[tuple[str, float], ...] = ()

    @property
    def missed(self) -> int | None:
        """The number of missed deadlines."""
        return None if self.dropped is None or self.late is None else self.dropped + self.late

    @property
    def period_ns(self) -> float:
        """The time between two frames, in which a result is due."""
        return 1e9 / self.fps


def of_record(record: Record) -> Paced | None:
    """The paced run of a record; None if it was not paced or came to no end.

    ValueError for values that no runner reports.
    """
    event = record.first("pace")
    runs = [run for run in record.of("run") if "frame" in run]
    if event is None or not runs:
        return None
    fps, seconds, frames = event["fps"], event["seconds"], runs[-1]["frame"] + 1
    numbers = [run["frame"] for run in runs]
    is_increasing = all(a < b for a, b in itertools.pairwise(numbers))
    if not (0 < fps <= _MAX_FPS and numbers[0] >= 0 and numbers[-1] < _MAX_FRAMES):
        raise ValueError(f"{fps:g} frames a second, up to number {numbers[-1]}")
    if not is_increasing or min(run["wait_ns"] for run in runs) < 0:
        raise ValueError("frames go back in time")
    samples = tuple((at, mhz, celsius) for at, mhz, celsius in event["samples"])
    if record.header.is_emulated:
        times: dict[str, Any] = dict.fromkeys(
            ("dropped", "late", "p50_ns", "p90_ns", "p99_ns", "max_ns")
        )
        return Paced(fps, seconds, frames, spans=(), samples=samples, why=event["why"], **times)
    latencies = [run["wait_ns"] + run["ns"] for run in runs]
    cpu = record.first("cpu")
    return Paced(
        fps=fps,
        seconds=seconds,
        frames=frames,
        dropped=frames - len(runs),
        late=sum(latency > 1e9 / fps for latency in latencies),
        p50_ns=float(np.median(latencies)),
        p90_ns=float(np.percentile(latencies, 90)),
        p99_ns=statistics.p99(latencies),
        max_ns=max(latencies),
        spans=tuple(_spans(runs, fps, samples)),
        samples=samples,
        why=event["why"],
        cpu_ns=cpu["ns"] if cpu else None,
        busy_cores=cpu["ns"] * cpu["runs"] / cpu["wall_ns"] if cpu else None,
        core_shares=tuple(event.get("busy", {}).items()),
    )


def _spans(
    runs: Sequence[Event],
    fps: float,
    samples: Sequence[tuple[float, float | None, float | None]],
) -> list[PacedSpan]:
    """The run in at most a dozen spans of equal numbers of frames."""
    frames = runs[-1]["frame"] + 1
    edges = np.linspace(0, frames, min(_SPANS, frames) + 1).astype(int)
    spans = []
    for first, end in itertools.pairwise(edges):
        inside = [run for run in runs if first <= run["frame"] < end]
        latencies = [run["wait_ns"] + run["ns"] for run in inside]
        late = sum(latency > 1e9 / fps for latency in latencies)
        begin_s, end_s = float(first / fps), float(end / fps)
        during = [sample for sample in samples if begin_s <= sample[0] < end_s]
        spans.append(
            PacedSpan(
                begin_s=begin_s,
                end_s=end_s,
                results=len(inside),
                missed=int(end - first) - len(inside) + late,
                median_ns=float(np.median(latencies)) if latencies else None,
                max_ns=max(latencies, default=None),
                mhz=_mean([mhz for _, mhz, _ in during]),
                celsius=_mean([celsius for _, _, celsius in during]),
            )
        )
    return spans


def _mean(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers else None
