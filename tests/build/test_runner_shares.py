"""The runner's report of its threads: operator by operator, and their CPU time."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest

from tests.build import samples
from trimtab.bench import runner_events
from trimtab.results.records import Event

pytestmark = pytest.mark.build


def command(folder: Path) -> list[str]:
    """Builds a small network for this machine; the words that run it."""
    delivery = samples.tiny(folder, "host")
    x = folder / "x.bin"
    x.write_bytes(bytes(4 * 3 * 5 * 7))
    return [*map(str, (delivery.runner, delivery.model, "--input", x))]


def launch(words: list[str], *options: str) -> list[Event]:
    """The events of a launch."""
    done = subprocess.run([*words, *options], capture_output=True, check=True)
    messages = runner_events.read(done.stdout)
    assert messages.error is None
    return list(messages.events)


@pytest.mark.parametrize("threads", [1, 2])
def test_shares_of_every_thread_lie_within_the_operator(tmp_path: Path, threads: int) -> None:
    events = launch(command(tmp_path), "--threads", str(threads), "--per-op")
    operators = [event for event in events if event["event"] == "op"]
    assert operators
    for event in operators:
        shares = event.get("shares", [])
        assert len(shares) == (threads if threads > 1 else 0)
        assert all(end <= event["ns"] for _, end in filter(None, shares))


def test_the_cpu_time_of_runs_is_most_of_what_the_system_counts(tmp_path: Path) -> None:
    words = command(tmp_path)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    (cpu,) = (e for e in launch(words, "--min-time-ms", "200") if e["event"] == "cpu")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    counted = sum(after[:2]) - sum(before[:2])  # of user and of system mode, in seconds
    assert cpu["wall_ns"] >= 200e6
    used = cpu["ns"] * cpu["runs"]
    assert 0 < used <= min(cpu["wall_ns"] + 20e6, counted * 1e9 + 20e6)
    assert used > 0.5e9 * counted
