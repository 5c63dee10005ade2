"""Facts of the machine during a measurement."""

from __future__ import annotations

import os
from pathlib import Path

from lab.machine import MachineMonitor
from trimtab.engine import engine

CPUINFO = """\
processor\t: 0
vendor_id\t: AuthenticAMD
model name\t: AMD EPYC
flags\t\t: fpu sse2 hypervisor avx2
"""


def test_the_stolen_time_is_the_share_of_other_guests(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(CPUINFO)
    (tmp_path / "stat").write_text("cpu  100 0 50 800 0 0 0 10 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    monitor = MachineMonitor(tmp_path)
    (tmp_path / "stat").write_text("cpu  150 0 60 830 0 0 0 20 40 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    facts = monitor.facts()
    assert (facts["cpu"], facts["virtual"], facts["stolen"]) == ("AMD EPYC", True, 0.1)


def test_a_machine_without_procfs_has_facts(tmp_path: Path) -> None:
    facts = MachineMonitor(tmp_path).facts()
    assert (facts["virtual"], facts["stolen"]) == (False, None)
    assert facts["cpu"]


def test_the_latency_between_cores_is_measured_before_and_after() -> None:
    before, after = MachineMonitor().facts()["hand_over_ns"]
    if len(os.sched_getaffinity(0)) < 2:
        assert before is after is None
    else:
        assert 1 < before < 1e6
        assert 1 < after < 1e6


def test_a_core_that_does_not_exist_has_no_latency() -> None:
    assert engine().hand_over_ns((0, 1023)) < 0
