"""Tallies of trials with known answers, and the end of the noisy neighbor."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from lab.false_positives import neighbor
from lab.false_positives import trials as tallies
from lab.false_positives.experiment import TrialLog
from lab.false_positives.trials import KINDS, Trial
from trimtab.compare.noise_floor import NoiseFloor
from trimtab.errors import UsageError

FLOOR = NoiseFloor(
    *("local", 0.004, 1.0, (0.996, 1.004), 40, False, "net", "2026-01-31T00:00:00Z"),
    *("boot", "Linux", None, ("a", "b")),
)


def trial(kind: int, *, is_real: bool) -> Trial:
    return Trial(kind, 1.01, 0.99, 1.03, is_real, 0.5)


def test_false_positives_and_detections_are_counted_by_the_state_of_the_machine() -> None:
    trials = [trial(0, is_real=False)] * 9 + [trial(0, is_real=True)]
    trials += [trial(1, is_real=True)] * 2 + [trial(1, is_real=False)] * 8
    trials += [trial(2, is_real=True)] * 9 + [trial(2, is_real=False)]
    trials += [trial(3, is_real=True)] * 10
    tally = tallies.tally(tallies.rows(trials))
    assert (tally["false_positives"], tally["trials"], tally["detected"]) == (3, 20, 0.95)
    assert (tally["quiet"]["false_positives"], tally["quiet"]["detected"]) == (1, 0.9)
    assert (tally["noisy"]["false_positives"], tally["noisy"]["detected"]) == (2, 1.0)
    assert "3 of 20" in str(tallies.page(tallies.rows(trials))[0])


def test_half_of_the_trials_are_noisy_and_a_longer_schedule_extends_a_shorter_one() -> None:
    due = tallies.schedule(200)
    same = [KINDS[kind] for kind in due if not KINDS[kind].planted]
    assert len(same) == 200
    assert sum(kind.is_noisy for kind in same) == 100
    assert {kind.planted: due.count(i) for i, kind in enumerate(KINDS) if kind.planted} == {
        3: 100,
        10: 100,
    }
    assert due[:20] == tallies.schedule(10)


def processes() -> set[str]:
    """Process ids of neighbors; an ended process that is not waited for has no arguments."""
    ids = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if neighbor.__file__.encode() in path.read_bytes():
                ids.add(path.parent.name)
    return ids


def wait_for(count: int, before: set[str]) -> None:
    deadline = time.monotonic() + 20
    while len(processes() - before) != count:
        assert time.monotonic() < deadline, f"there are not {count} processes of a neighbor"
        time.sleep(0.02)


def test_the_neighbor_has_one_worker_per_cpu_and_all_of_them_end() -> None:
    before = processes()
    with neighbor.running(60):
        wait_for(1 + (os.cpu_count() or 1), before)
    wait_for(0, before)


def test_the_neighbor_ends_by_itself() -> None:
    before = processes()
    with neighbor.running(2):
        wait_for(1 + (os.cpu_count() or 1), before)
        wait_for(0, before)


def test_an_interrupted_run_is_resumed(tmp_path: Path) -> None:
    path, facts = tmp_path / "trials.jsonl", {"boot_id": "x", "kept": ["a"]}
    log = TrialLog(path, facts)
    log.begin(FLOOR)
    log.add(trial(0, is_real=False))
    log.add(trial(1, is_real=True))
    again = TrialLog(path, json.loads(json.dumps(facts)))
    again.read()
    assert again.floor == FLOOR
    assert again.trials == log.trials
    again.add(trial(2, is_real=True))
    third = TrialLog(path, facts)
    third.read()
    assert third.trials == again.trials
    with pytest.raises(UsageError, match="other binaries"):
        TrialLog(path, {**facts, "boot_id": "y"}).read()
    with pytest.raises(UsageError, match="no trials to resume"):
        TrialLog(tmp_path / "none.jsonl", facts).read()
