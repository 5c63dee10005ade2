"""The file of tensors that a runner writes, and the launches that it takes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.debug.networks import small
from trimtab.bench.runner import Command, LaunchResult
from trimtab.debug import tensors
from trimtab.devices.protocol import Room
from trimtab.errors import DeviceFullError, RunnerError, TrimtabError
from trimtab.program import Program
from trimtab.session import optimize
from trimtab.target import Target


def record(
    op: int, values: NDArray[np.float32], layout: int = 0, shape: tuple[int, ...] = ()
) -> bytes:
    """A record of float32, as runtime/app/tensors.h describes it."""
    shape = shape or values.shape
    dims = [*shape, *[0] * (8 - len(shape))]
    head = struct.pack("<IHBBBBH8iI", op, 7, 0, 1, layout, len(shape), 0, *dims, values.nbytes)
    return head + values.tobytes()


def test_results_have_the_order_of_their_logical_dimensions() -> None:
    pixels = np.arange(24, dtype=np.float32).reshape(1, 2, 4, 3)  # n, h, w, c
    row = np.arange(5, dtype=np.float32)
    data = record(3, pixels, layout=1, shape=(1, 3, 2, 4)) + record(4, row)
    image, vector = tensors.read(data)
    assert (image.op, image.type, image.output) == (3, 7, 0)
    np.testing.assert_array_equal(image.values, pixels.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(vector.values, row)


@pytest.mark.parametrize("wrong", ["cut", "head", "type", "rank", "size"])
def test_a_damaged_file_of_tensors_is_refused(wrong: str) -> None:
    good = record(3, np.zeros(5, np.float32))
    at = {"type": 7, "rank": 9, "size": 44}.get(wrong, 0)
    data = {"cut": good[:-1], "head": good[:20]}.get(wrong, good[:at] + b"\x63" + good[at + 1 :])
    with pytest.raises(RunnerError, match="its tensors"):
        list(tensors.read(data))


class FakeDevice:
    """A device whose runner computes tensors of one element, 52 bytes each in a file."""

    name = "board"

    def __init__(self, program: Program, free: int | None) -> None:
        self.program, self.free = program, free
        self.launches: list[int] = []

    def room(self) -> Room:
        return Room(self.name, self.free, frozenset())

    @contextmanager
    def scratch(self) -> Iterator[str]:
        yield "/scratch"

    def run(self, argv: list[str], **_: object) -> SimpleNamespace:
        first, most = (int(argv[argv.index(f"--tensors-{n}") + 1]) for n in ("from", "bytes"))
        self.launches.append(first)
        steps = [i for i, op in enumerate(self.program.ops) if not op.schema.prepares]
        written = [i for i in steps if i >= first][: most // 52]
        self.data = b"".join(record(i, np.full(1, i, np.float32)) for i in written)
        return SimpleNamespace()

    def pull(self, remote: str, local: Path) -> None:
        local.write_bytes(self.data if remote.endswith("tensors.bin") else b"out")


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setattr(tensors, "interpret", lambda _: LaunchResult((), None))
    return optimize(small(), Target.portable())


@pytest.mark.parametrize(("free", "launches"), [(None, 1), (8 * 52 * 3, 2)])
def test_a_device_with_little_space_runs_the_network_as_often_as_that_needs(
    program: Program, tmp_path: Path, free: int | None, launches: int
) -> None:
    device = FakeDevice(program, free)
    dump = tensors.fetch(device, Command("run", "m", []), program, tmp_path)  # type: ignore[arg-type]
    steps = [i for i, op in enumerate(program.ops) if not op.schema.prepares]
    assert [i for i, _ in dump.results] == steps
    assert len(device.launches) >= launches
    assert dump.outputs == [b"out"]


def test_results_that_have_no_room_are_told_with_their_operator(
    program: Program, tmp_path: Path
) -> None:
    device = FakeDevice(program, 100)
    with pytest.raises(DeviceFullError, match=r"results of operator .* need [\d,]+ bytes"):
        tensors.fetch(device, Command("run", "m", []), program, tmp_path)  # type: ignore[arg-type]


def test_the_error_of_the_runner_is_raised(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = LaunchResult((), RunnerError("no memory"))
    monkeypatch.setattr(tensors, "interpret", lambda _: failed)
    device = FakeDevice(program, None)
    with pytest.raises(TrimtabError, match="no memory"):
        tensors.fetch(device, Command("run", "m", []), program, tmp_path)  # type: ignore[arg-type]


def test_the_options_of_tensors_are_passed_only_when_asked() -> None:
    command = Command("run", "m", [])
    assert "--tensors" not in command.argv()
    words = replace(command, tensors="f", tensors_from=3, tensors_bytes=9).argv()
    at = words.index("--tensors")
    assert words[at:] == ["--tensors", "f", "--tensors-from", "3", "--tensors-bytes", "9"]
