"""A folder that stands in for /sys: an ARM board with two clusters, that can become hot."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

LITTLE, BIG = (0,), (1,)  # cores that this machine has, too, so that runners can be pinned to them
NEEDS_BOTH = pytest.mark.skipif(
    not {*LITTLE, *BIG} <= os.sched_getaffinity(0),
    reason="the cores of the board are CPUs 0 and 1 of this machine, and one is not allowed",
)


class FakeSysfs:
    """The sysfs files of a board. The test plays refusals and changes of the kernel."""

    def __init__(self, folder: Path, *, governor: str = "schedutil") -> None:
        """Cores 0 (little) and 1 (big) at full speed, 40 °C, nothing throttled."""
        self.folder = folder
        self.write("devices/system/cpu/online", "0-1")
        for cores, capacity, khz in ((LITTLE, 400, 1_800_000), (BIG, 1024, 2_400_000)):
            for core in cores:
                cpu = f"devices/system/cpu/cpu{core}"
                self.write(f"{cpu}/cpu_capacity", str(capacity))
                for name, text in {
                    "scaling_governor": governor,
                    "scaling_driver": "cpufreq-dt",
                    "cpuinfo_max_freq": str(khz),
                    "scaling_max_freq": str(khz),
                    "scaling_cur_freq": str(khz),
                }.items():
                    self.write(f"{cpu}/cpufreq/{name}", text)
        self.write_all(
            {
                "devices/system/cpu/cpu1/regs/identification/midr_el1": "0x00000000414fd0b1",
                "class/thermal/thermal_zone0/type": "cpu-thermal",
                "class/thermal/thermal_zone0/temp": "40000",
                "class/thermal/thermal_zone0/trip_point_0_type": "passive",
                "class/thermal/thermal_zone0/trip_point_0_temp": "75000",
                "class/thermal/cooling_device0/type": "thermal-cpufreq-0",
                "class/thermal/cooling_device0/cur_state": "0",
                "class/thermal/cooling_device0/stats/total_trans": "5",
                "class/thermal/cooling_device1/type": "pwm-fan",
                "class/thermal/cooling_device1/cur_state": "3",
            }
        )

    def write(self, path: str, text: str) -> None:
        """Writes a line into a file."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def write_all(self, files: Mapping[str, str]) -> None:
        """Writes a line into each file."""
        for path, text in files.items():
            self.write(path, text)

    def governors(self) -> list[str]:
        """The governors of the little and the big core."""
        cpus = self.folder / "devices/system/cpu"
        return [
            (cpus / f"cpu{core}/cpufreq/scaling_governor").read_text().strip()
            for core in LITTLE + BIG
        ]

    def refuse_governors(self) -> None:
        """Makes the files read-only, also for root."""
        for core in LITTLE + BIG:
            file = self.folder / f"devices/system/cpu/cpu{core}/cpufreq/scaling_governor"
            file.unlink()
            file.symlink_to("/proc/sys/kernel/ostype")  # says "Linux", and is read-only
