"""How long a sweep takes: by what its builds and cells took before, else by rules of thumb."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from trimtab.results.index import Entry
from trimtab.sweep.matrix import Cell, Sweep

_BUILD_S = 30.0  # of a network of a few million weights
_EMULATED_S = 20.0
_LAUNCH_S = 0.7  # beside its steady state: start, load, first inference
_ONCE_S = 5.0  # connect, push, check the output


@dataclass(frozen=True)
class Pace:
    """What is known of a sweep's speed. `quiet`: devices beside which nothing goes on here;
    `emulated`: those that compute on this machine's CPUs, as builds do. `builds_s`: builds of
    before, by their names.
    """

    sweep: Sweep
    entries: Sequence[Entry]
    builds_s: Mapping[str, float]
    cpus: int
    quiet: Collection[str]
    emulated: Collection[str]

    def seconds(self, builds: Iterable[Cell], cells: Iterable[Cell]) -> float:
        """To build and measure all of these."""
        here_s = sum(self.builds_s.get(str(build), _BUILD_S) for build in builds)
        by_series, by_device = self._known()
        devices_s: dict[str, float] = defaultdict(float)
        for cell in cells:
            rule = self._by_rule(cell)
            known = by_series.get(self.sweep.series(cell), by_device.get(cell.device, rule))
            devices_s[cell.device] += known
        quiet_s = sum(s for device, s in devices_s.items() if device in self.quiet)
        here_s += sum(s for device, s in devices_s.items() if device in self.emulated)
        loud_s = [s for device, s in devices_s.items() if device not in self.quiet]
        return quiet_s + max(here_s / self.cpus, *loud_s, 0)

    def _known(self) -> tuple[dict[str, float], dict[str, float]]:
        """What a cell took, the last time, and the middle of those of a device."""
        shared = Counter(entry.comparison for entry in self.entries)
        by_series, by_device = {}, defaultdict(list)
        for entry in self.entries:
            if entry.series and entry.seconds is not None:
                seconds = entry.seconds / (shared[entry.comparison] if entry.comparison else 1)
                by_series[entry.series] = seconds
                by_device[entry.device].append(seconds)
        return by_series, {name: statistics.median(took) for name, took in by_device.items()}

    def _by_rule(self, cell: Cell) -> float:
        if cell.device in self.emulated:
            return _EMULATED_S
        settings = self.sweep.protocol.settings.resolved(is_emulated=False)
        launches_s = (settings.launches or 0) * _LAUNCH_S
        return _ONCE_S + launches_s + (settings.min_time_ms or 0) / 1000
