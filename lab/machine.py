"""Properties of the machine that runs a measurement, and its other load meanwhile."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

from trimtab.engine import engine
from trimtab.target import Target

_PROC = Path("/proc")


def isa() -> str:
    """The instruction set to which trimtab is limited, or ""."""
    return os.environ.get("TRIMTAB_ISA", "")


class MachineMonitor:
    """Observes this machine from construction on."""

    def __init__(self, proc: Path = _PROC) -> None:
        """`proc`: the procfs to read."""
        self._proc = proc
        self._load = os.getloadavg()[0]
        self._ticks = self._read_ticks()
        self._hand_over = _hand_over_ns()

    def facts(self) -> dict[str, Any]:
        """The machine and its noise.

        `load_before`: the load average of the minute before construction; `stolen`: the share of
        CPU time that the hypervisor gave to other guests since then; `hand_over_ns`: the latency of
        passing a value to another core and back, before and after. Where a host moves virtual
        cores, this latency distinguishes the placements.
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
        """user, nice, system, idle, iowait, irq, softirq, steal (proc(5)), without the guests'
        times, which user and nice include.
        """
        match = re.match(r"cpu +([\d ]+)\n", self._text("stat"))
        return [int(word) for word in match[1].split()[:8]] if match else []

    def _text(self, name: str) -> str:
        try:
            return (self._proc / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


def _hand_over_ns() -> float | None:
    """Latency between the first two cores available to this process; None with a single core."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    latency = engine().hand_over_ns(tuple(cores)) if len(cores) == 2 else -1
    return round(latency, 1) if latency > 0 else None
