"""Launches of an engine on a device, and its figures."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class EngineLaunches:
    """The engine's command on the device, and its costs so far, by launch: medians of times and
    counts, CPU time by inference, and the cores that stay busy in the pause behind the inferences.
    """

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    is_worker: bool = False
    times: list[float] = field(default_factory=list)
    counts: list[float] = field(default_factory=list)
    cpu_ns: list[float] = field(default_factory=list)
    waiting_cores: list[float] = field(default_factory=list)

    def figures(self, *, is_emulated: bool) -> list[float | None]:
        """The median of each, in this order; only counts if the device is emulated."""
        costs = [self.times, self.counts, self.cpu_ns, self.waiting_cores]
        medians = [statistics.median(values) if values else None for values in costs]
        return [None, medians[1], None, None] if is_emulated else medians
