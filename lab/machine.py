"""The machine that something is timed on, and what else it did meanwhile."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

from trimtab.engine import engine
from trimtab.target import Target

_PROC = Path("/proc")


class Surroundings:
    """From its making on: how busy the machine was with others, as Linux tells it."""

    def __init__(self, proc: Path = _PROC) -> None:
        """`proc`: where Linux shows its facts."""
        self._proc = proc
        self._load = os.getloadavg()[0]
        self._ticks = self._read_ticks()
        self._hand_over = _hand_over_ns()

    def facts(self) -> dict[str, Any]:
        """The machine, and its noise: `load_before`: the load average of the last minute before;
        `stolen`: the part of its time that a hypervisor gave to other guests since then;
        `hand_over_ns`: what a number takes from a core to another and back, before and after.
        Where a host moves virtual cores, it tells which of two machines the figures are of.
        """
        info = self._text("cpuinfo")
        model = re.search(r"^model name\s*:\s*(.*)$", info, re.M)
        return {
            "cpu": model[1].strip() if model else platform.machine(),
            "core": Target.host().core.name,
            "cores": os.cpu_count(),
            "kernel": f"{platform.system()} {platform.release()}",
            "virtual": re.search(r"^flags\s*:.*\bhypervisor\b", info, re.M) is not None,
            "load_before": round(self._load, 2),
            "stolen": self._stolen(),
            "hand_over_ns": [self._hand_over, _hand_over_ns()],
        }

    def _stolen(self) -> float | None:
        pairs = zip(self._ticks, self._read_ticks(), strict=False)
        ticks = [after - before for before, after in pairs]
        total = sum(ticks)
        return round(ticks[-1] / total, 4) if total else None

    def _read_ticks(self) -> list[int]:
        """user, nice, system, idle, iowait, irq, softirq, steal (proc(5)); the guests' own times,
        which are in user and nice, are left out.
        """
        found = re.match(r"cpu +([\d ]+)\n", self._text("stat"))
        return [int(word) for word in found[1].split()[:8]] if found else []

    def _text(self, name: str) -> str:
        try:
            return (self._proc / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


def _hand_over_ns() -> float | None:
    """Between the first two cores that this process may run on; None where there is but one."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    taken = engine().hand_over_ns(tuple(cores)) if len(cores) == 2 else -1
    return round(taken, 1) if taken > 0 else None
