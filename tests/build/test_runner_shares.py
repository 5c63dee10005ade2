"""The runner's report of its threads, operator by operator."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.build import samples
from trimtab.bench import runner_events
from trimtab.results.records import Event

pytestmark = pytest.mark.build


@pytest.mark.parametrize("threads", [1, 2])
def test_shares_of_every_thread_lie_within_the_operator(tmp_path: Path, threads: int) -> None:
    delivery = samples.tiny(tmp_path, "host")
    x = tmp_path / "x.bin"
    x.write_bytes(bytes(4 * 3 * 5 * 7))
    command = [
        *map(str, (delivery.runner, delivery.model, "--input", x)),
        "--threads",
        str(threads),
        "--per-op",
    ]
    messages = runner_events.read(subprocess.run(command, capture_output=True, check=True).stdout)
    assert messages.error is None
    operators: list[Event] = [event for event in messages.events if event["event"] == "op"]
    assert operators
    for event in operators:
        shares = event.get("shares", [])
        assert len(shares) == (threads if threads > 1 else 0)
        assert all(end <= event["ns"] for _, end in filter(None, shares))
