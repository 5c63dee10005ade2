"""Estimates how long a sweep takes, from the durations of earlier builds and cells."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from trimtab.results.index import Entry
from trimtab.sweep.matrix import Cell, Sweep

# Defaults without a record of an earlier run, in seconds.
_BUILD_S = 30.0  # a network of a few million weights
_EMULATED_S = 20.0
_LAUNCH_S = 0.7  # process start, load and first inference of a launch
_SETUP_S = 5.0  # connect, push, check the output


@dataclass(frozen=True)
class DurationEstimate:
    """The known durations of a sweep's builds and cells.

    While a device in `quiet` measures, nothing else runs on this machine. Devices in `emulated` use
    this machine's CPUs, as builds do. `builds_s` are earlier builds by their names.
    """

    sweep: Sweep
    entries: Sequence[Entry]
    builds_s: Mapping[str, float]
    cpus: int
    quiet: Collection[str]
    emulated: Collection[str]

    def seconds(self, builds: Iterable[Cell], cells: Iterable[Cell]) -> float:
        """Estimated seconds to make these builds and measure these cells."""
        here_s = sum(self.builds_s.get(str(build), _BUILD_S) for build in builds)
        by_series, by_device = self._measured()
        devices_s: dict[str, float] = defaultdict(float)
        for cell in cells:
            default = self._default_s(cell)
            series = self.sweep.series(cell)
            devices_s[cell.device] += by_series.get(series, by_device.get(cell.device, default))
        quiet_s = sum(s for device, s in devices_s.items() if device in self.quiet)
        here_s += sum(s for device, s in devices_s.items() if device in self.emulated)
        parallel_s = [s for device, s in devices_s.items() if device not in self.quiet]
        return quiet_s + max(here_s / self.cpus, *parallel_s, 0)

    def _measured(self) -> tuple[dict[str, float], dict[str, float]]:
        """Seconds of each series' newest run, and the median run of each device."""
        arms = Counter(entry.comparison for entry in self.entries)
        by_series, by_device = {}, defaultdict(list)
        for entry in self.entries:
            if entry.series and entry.seconds is not None:
                seconds = entry.seconds / (arms[entry.comparison] if entry.comparison else 1)
                by_series[entry.series] = seconds
                by_device[entry.device].append(seconds)
        return by_series, {name: statistics.median(runs) for name, runs in by_device.items()}

    def _default_s(self, cell: Cell) -> float:
        if cell.device in self.emulated:
            return _EMULATED_S
        settings = self.sweep.protocol.settings.resolved(is_emulated=False)
        launches_s = (settings.launches or 0) * _LAUNCH_S
        return _SETUP_S + launches_s + (settings.min_time_ms or 0) / 1000
