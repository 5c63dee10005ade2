"""Executed instructions under QEMU user mode: exact and repeatable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.devices.conftest import require_counting
from trimtab.devices import InstructionCounter, Mark, Transcript, find_device
from trimtab.errors import DeviceTimeoutError

pytestmark = pytest.mark.device


@pytest.mark.parametrize(
    ("device", "target"),
    [("qemu-a53", "aarch64-linux-musl"), ("qemu-armv7", "armv7-linux-musleabihf")],
)
def test_counts_are_exact_and_repeat(
    device: str, target: str, probe: Callable[[str], Path]
) -> None:
    require_counting()
    with find_device(device).open() as emulator:
        assert isinstance(emulator, InstructionCounter)
        program = emulator.push(probe(target)).path
        outcomes = [emulator.count_instructions([program, "loop"], timeout_s=60) for _ in range(3)]
    assert all(result.ok for result, _ in outcomes)
    counts = outcomes[0][1]
    assert all(other == counts for _, other in outcomes)
    assert [(mark.phase, mark.index) for mark in counts.marks] == [(3, 0), (4, 0), (3, 1), (4, 1)]
    assert counts.total is not None
    assert counts.total > counts.marks[-1].instructions
    first, second = between(counts.marks, 0), between(counts.marks, 1)
    # Twice the rounds cost exactly 1000 rounds more; a round is a few instructions.
    per_round, rest = divmod(second - first, 1000)
    assert rest == 0
    assert 3 <= per_round <= 10
    assert 0 < first - 1000 * per_round < 300  # prctl and the entry to the loop


def between(marks: tuple[Mark, ...], index: int) -> int:
    start, end = (mark.instructions for mark in marks if mark.index == index)
    return end - start


def test_marks_before_a_timeout_are_in_the_transcript(probe: Callable[[str], Path]) -> None:
    require_counting()
    whole, cut = Transcript(), Transcript()
    with find_device("qemu-a53").open() as emulator:
        assert isinstance(emulator, InstructionCounter)
        program = emulator.push(probe("aarch64-linux-musl")).path
        emulator.count_instructions([program, "loop"], timeout_s=60, transcript=whole)
        command = [program, "loop", "hello"]
        with pytest.raises(DeviceTimeoutError):
            emulator.count_instructions(command, timeout_s=2, transcript=cut)
    assert cut.stdout == b"hello\n"
    assert between(tuple(cut.marks), 0) == between(tuple(whole.marks), 0)
    assert len(cut.marks) == len(whole.marks) == 4


def test_a_crash_has_no_total(probe: Callable[[str], Path]) -> None:
    require_counting()
    with find_device("qemu-a53").open() as emulator:
        assert isinstance(emulator, InstructionCounter)
        program = emulator.push(probe("aarch64-linux-musl")).path
        result, counts = emulator.count_instructions([program, "raise", "11"], timeout_s=60)
    assert result.signal == 11
    assert counts.marks == ()
    assert counts.total is None
