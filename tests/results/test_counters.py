"""Hardware events: scaling of counts, their reports, and machines without counters.

The expected figures are those of a made-up machine: events at a constant rate, which groups see for
a part of the time, as a PMU of few counters does.
"""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import make_golden, make_header, make_subject
from trimtab import reports
from trimtab.bench import counters, protocol
from trimtab.bench.jobs import Settings
from trimtab.devices import Device
from trimtab.devices.protocol import DeviceInfo
from trimtab.results import counters as hardware_counters
from trimtab.results import records
from trimtab.results.counters import EventCounts, HardwareEvents
from trimtab.results.records import Status, Writer
from trimtab.results.summary import summarize

A72 = DeviceInfo("aarch64", "Linux 6.1", "cortex-a72", 4, 1 << 30, None, None, (), None, False)
ASKED = counters.request(A72, 1).event()


def test_the_events_of_a_core_and_its_memory_are_those_of_its_row() -> None:
    event_counts = counters.request(A72, 1)
    assert event_counts.line_bytes == 64
    assert event_counts.gb_per_s == 4.6
    assert event_counts.events["last_level_misses"] == "4:17", "L2D_CACHE_REFILL"
    x86 = counters.request(dataclasses.replace(A72, machine="x86_64", cpu="Some CPU"), 1)
    assert x86.events["last_level_misses"] == "0:3"
    assert (x86.line_bytes, x86.gb_per_s) == (None, None)


def test_no_more_counters_are_requested_than_the_runner_supports() -> None:
    source = Path(counters.__file__).parents[2] / "runtime" / "app" / "counters.h"
    assert "kMaxCounters = 12;" in source.read_text()
    assert all(len(counters.request(info, 1).events) <= 12 for info in (A72,))


def test_counts_of_multiplexed_groups_are_scaled_over_all_samples_together() -> None:
    # 3 events a nanosecond; the operator takes 40 us, a turn of the PMU 4 ms: most samples see all
    # of the operator or nothing of it.
    rng = random.Random(1)
    samples: list[list[list[int]]] = []
    for _ in range(400):
        running = rng.choice([0, 40_000, 40_000, rng.randrange(40_000)])
        samples.append([[3 * running, 40_000, running], [3 * 40_000, 40_000, 40_000]])
    event_counts = hardware_counters.scaled(["turns", "always"], samples)
    assert event_counts.counts["turns"] == pytest.approx(120_000, rel=1e-12)
    assert event_counts.counts["always"] == 120_000
    assert 0.5 < event_counts.counted_share < 0.75


def test_an_event_that_never_ran_is_not_counted_as_zero() -> None:
    event_counts = hardware_counters.scaled(["a", "b", "c"], [[[0, 9, 0], None, [0, 9, 9]]] * 3)
    assert dict(event_counts.counts) == {"c": 0}
    assert event_counts.counted_share == 1


@pytest.mark.parametrize(
    ("of_inference", "expected_misses"),
    [(0, None), (60_000, 0)],
    ids=["nobody counts it", "it counts, and the operator has none"],
)
def test_a_last_level_without_a_miss_in_an_inference_counts_as_not_counted(
    tmp_path: Path, of_inference: int, expected_misses: int | None
) -> None:
    quiet = [*BUSY[:3], [0, 10, 10], *BUSY[4:]]
    whole = [*BUSY[:3], [of_inference, 10, 10], *BUSY[4:]]
    hardware = summarize(record(tmp_path, whole, of_operator=quiet)).hardware
    assert hardware is not None
    assert hardware[1].counts.get("last_level_misses") == expected_misses
    assert hardware[1].bound == ("" if expected_misses is None else "compute")


def test_the_last_level_is_the_deepest_that_counts() -> None:
    names = ["last_level_misses", "last_level_read_misses"]
    both = hardware_counters.scaled(names, [[[50, 1, 1], [20, 1, 1]]])
    assert dict(both.counts) == {"last_level_misses": 20}
    assert hardware_counters.scaled(names, [[[50, 1, 1], None]]).counts["last_level_misses"] == 50


BOUNDS = [
    # misses, ns, with a bandwidth of 4.6 GB/s and lines of 64 bytes
    ({"last_level_misses": 60}, 1000, "memory"),  # 3.84 GB/s
    ({"last_level_misses": 30}, 1000, "between"),  # 1.92 GB/s
    ({"last_level_misses": 10}, 1000, "compute"),  # 0.64 GB/s
    ({"cycles": 100, "stalled_cycles": 90}, 1000, ""),
    ({"cycles": 100}, 1000, ""),
]


@pytest.mark.parametrize(("counts", "ns", "bound"), BOUNDS)
def test_an_operators_bound_follows_from_its_bandwidth(
    counts: dict[str, float], ns: float, bound: str
) -> None:
    assert HardwareEvents(ASKED, 1).bound(EventCounts(counts, 1.0), ns) == bound


# The thresholds themselves (50 and 25 % of the cycles, 10 misses) are between both.
STALLS = [
    *((60, 20, "memory"), (60, 1, "between"), (10, 1, "compute"), (40, 20, "between")),
    *((60, 10, "between"), (50, 20, "between"), (25, 1, "between")),
]


@pytest.mark.parametrize(("stalled", "misses", "bound"), STALLS)
def test_without_a_bandwidth_the_bound_follows_from_stalls_and_misses(
    stalled: int, misses: int, bound: str
) -> None:
    request = {**ASKED, "gb_per_s": None}
    counts = {"cycles": 100, "stalled_cycles": stalled, "instructions": 1000}
    counted = EventCounts({**counts, "last_level_misses": misses}, 1.0)
    assert HardwareEvents(request, 1).bound(counted, 1000) == bound


def test_threads_are_assumed_to_move_equal_amounts() -> None:
    assert (
        HardwareEvents(ASKED, 4).gb_per_s(EventCounts({"last_level_misses": 10}, 1.0), 1000) == 2.56
    )


def record(
    directory: Path,
    readings: list[Any] | None,
    of_operator: list[Any] | None = None,
    **header: Any,
) -> records.Record:
    """A record with 20 runs of 1 ms and one operator. Each run counted `readings`; the operator
    counted `of_operator`, if it is set.
    """
    with Writer(directory, make_header(**header)) as writer:
        writer.event(ASKED)
        more = {} if readings is None else {"counters": readings}
        for i in range(20):
            run = {"event": "run", "i": i, "ns": 1_000_000, "instructions": None}
            writer.event({**run, **more})
        op = {"event": "op", "run": 0, "index": 0, "id": 1, "name": "conv1", "ns": 1_000_000}
        more = more if of_operator is None else {"counters": of_operator}
        writer.event({**op, "instructions": None, **more})
        writer.end(Status.OK)
    return records.read(writer.path)


# cycles, instructions, stalls, L2 misses, last-level misses, branches, TLB, L1d
BUSY = [[1_800_000, 10, 10], [900_000, 10, 10], [1_170_000, 10, 5], [60_000, 10, 10], None]
BUSY += [[9, 10, 10], None, [90_000, 10, 10]]


@pytest.mark.parametrize("name", [n for n in reports.names() if reports.find(n).IS_WHOLE])
class TestEveryFormat:
    def test_says_whether_an_operator_is_memory_bound_and_by_which_rule(
        self, name: str, tmp_path: Path
    ) -> None:
        text = reports.find(name).run(summarize(record(tmp_path, BUSY)))
        assert "memory" in text
        assert "An operator is memory bound if" in text
        assert "3.84" in text, "60,000 lines of 64 bytes in a millisecond"
        assert "L1d" in text or "l1d_misses" in text

    def test_says_in_one_sentence_that_a_kernel_counts_nothing(
        self, name: str, tmp_path: Path
    ) -> None:
        text = reports.find(name).run(summarize(record(tmp_path, [None] * 8)))
        assert "The kernel counted no hardware events" in text
        assert "An operator is memory bound if" not in text

    def test_says_nothing_about_counters_that_were_not_requested(
        self, name: str, tmp_path: Path
    ) -> None:
        summary = dataclasses.replace(summarize(record(tmp_path, None)), hardware=None)
        assert "hardware events" not in reports.find(name).run(summary)


def test_an_emulated_operator_is_neither_memory_nor_compute_bound(tmp_path: Path) -> None:
    rows = summarize(record(tmp_path, BUSY, is_emulated=True)).hardware
    assert rows is not None
    assert [row.bound for row in rows] == ["", ""]
    assert [row.gb_per_s for row in rows] == [None, None]


def test_counters_are_requested_for_launches_of_the_steady_state(
    device: Device, tmp_path: Path
) -> None:
    # The fake runner fails if `--counters` is missing, or present when it should not be.
    fault = "assert is_golden != ('--counters' in args)"
    settings = Settings(warmup=0, runs=2, min_time_ms=0, counters=True)
    subject = make_subject(tmp_path, fault)
    outcome = protocol.measure(device, subject, make_golden(), settings, tmp_path / "results")
    assert outcome.error is None
    event_counts = records.read(outcome.path)
    assert event_counts.of("counters")[0]["names"][:2] == ["cycles", "instructions"]
    assert summarize(event_counts).hardware == ()
