"""Large files travel compressed if the device can decompress them, over a real OpenSSH server."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.bench.fakes import make_golden, make_subject
from tests.devices.chosen_programs import ChosenPrograms
from tests.devices.conftest import SshServer, require
from tests.devices.servers import kill_sessions
from tests.devices.ssh.test_transport import files_below
from tests.recorded_progress import Halfway
from trimtab.bench.jobs import Settings
from trimtab.bench.protocol import measure
from trimtab.devices import PushedFile, find_device
from trimtab.errors import DeviceError, DeviceFullError, DeviceUnreachableError
from trimtab.results import records

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("each_client")]

SIZE_BYTES = 4_000_000


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A file that compresses as weights do."""
    path = tmp_path / "weights.ttm"
    numbers = np.random.default_rng(1).normal(0, 0.05, SIZE_BYTES // 4)
    path.write_bytes(numbers.astype(np.float32).tobytes())
    return path


@pytest.fixture
def board(start_sshd: Callable[..., SshServer], config: Path, tmp_path: Path) -> ChosenPrograms:
    """A server whose shell finds only the required programs, of which some are optional."""
    return ChosenPrograms(start_sshd, config, tmp_path)


def push(board: ChosenPrograms, local: Path) -> PushedFile:
    """Pushes a file, and checks the arrived bytes."""
    with find_device("board1").open(trust_new=True) as device:
        pushed = device.push(local)
        assert Path(pushed.path).read_bytes() == local.read_bytes()
        assert device.push(local) == PushedFile(pushed.path)
    assert [path.name for path in files_of(board.directory)] == [local.name]
    return pushed


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_device_with_zstd_gets_fewer_bytes_than_the_file_has(
    board: ChosenPrograms, weights: Path
) -> None:
    crossed = board.directory.parent / "crossed"
    pipe = require("tee", "coreutils")
    board.install("zstd", f'{pipe} {shlex.quote(str(crossed))} | exec "$real" "$@"')
    board.start()
    pushed = push(board, weights)
    assert pushed.packing == "zstd"
    assert pushed.sent_bytes == crossed.stat().st_size < 0.95 * SIZE_BYTES


def test_a_device_with_only_gzip_gets_gzip(board: ChosenPrograms, weights: Path) -> None:
    board.install("gzip")
    board.start()
    pushed = push(board, weights)
    assert pushed.packing == "gzip"
    assert pushed.sent_bytes < 0.95 * SIZE_BYTES


def test_zstd_comes_before_gzip(board: ChosenPrograms, weights: Path) -> None:
    board.install("gzip")
    board.install("zstd")
    board.start()
    assert push(board, weights).packing == "zstd"


def test_a_device_without_a_decompressor_gets_uncompressed_bytes(
    board: ChosenPrograms, weights: Path
) -> None:
    board.start()
    pushed = push(board, weights)
    assert (pushed.sent_bytes, pushed.packing) == (SIZE_BYTES, "")


def test_a_definition_can_disable_compression(board: ChosenPrograms, weights: Path) -> None:
    board.install("zstd")
    board.start(compress=False)
    pushed = push(board, weights)
    assert (pushed.sent_bytes, pushed.packing) == (SIZE_BYTES, "")


def test_a_small_file_is_not_compressed(board: ChosenPrograms, tmp_path: Path) -> None:
    board.install("zstd")
    board.start()
    (tmp_path / "small").write_bytes(bytes(999_999))
    pushed = push(board, tmp_path / "small")
    assert (pushed.sent_bytes, pushed.packing) == (999_999, "")


@pytest.mark.parametrize("fault", ["exit 1", 'head -c 1000000 | "$real" "$@"', "echo spoilt"])
def test_a_failed_decompression_falls_back_to_uncompressed_bytes(
    board: ChosenPrograms, weights: Path, fault: str
) -> None:
    board.install("zstd", f"PATH=$PATH:/usr/bin:/bin; {fault}; cat >/dev/null; exit 1")
    board.start()
    pushed = push(board, weights)
    assert pushed.packing == ""
    assert pushed.sent_bytes >= SIZE_BYTES  # and what was sent in vain


@pytest.mark.parametrize("damage", ["printf x", ":"])
def test_a_file_that_arrives_damaged_is_refused_and_not_stored(
    board: ChosenPrograms, tmp_path: Path, damage: str
) -> None:
    (board.bin / "cat").unlink()
    real = require("head", "coreutils")
    board.install("cat", f'{real} -c 500 | "$real" "$@"; {damage}')
    board.start()
    (tmp_path / "small").write_bytes(bytes(500 if damage == "printf x" else 501))
    with (
        find_device("board1").open(trust_new=True) as device,
        pytest.raises(DeviceError, match="small arrived damaged"),
    ):
        device.push(tmp_path / "small")
    assert files_of(board.directory) == []


def test_a_full_disk_does_not_cause_a_second_transfer(board: ChosenPrograms, weights: Path) -> None:
    board.install(
        "zstd", "echo 'zstd: error 70 : Write error : No space left on device' >&2; exit 70"
    )
    board.start()
    with (
        find_device("board1").open(trust_new=True) as device,
        pytest.raises(DeviceFullError, match="no room"),
    ):
        device.push(weights)
    assert files_of(board.directory) == []


@pytest.mark.parametrize("program", ["zstd", "gzip"])
def test_a_broken_link_leaves_nothing_that_looks_complete(
    board: ChosenPrograms, weights: Path, program: str
) -> None:
    board.install(program)
    server = board.start()
    with (
        find_device("board1").open(trust_new=True) as device,
        pytest.raises(DeviceUnreachableError),
    ):
        device.push(weights, Halfway(lambda: kill_sessions(server.pid)))
    assert files_below(board.directory) == []
    assert push(board, weights).packing == program


def test_a_record_says_what_crossed_the_link(
    board: ChosenPrograms, weights: Path, tmp_path: Path
) -> None:
    board.install("zstd")
    board.start()
    subject = make_subject(tmp_path)
    subject.model.write_bytes(weights.read_bytes())
    pushes = []
    with find_device("board1").open(trust_new=True) as device:
        for _ in range(2):
            outcome = measure(device, subject, make_golden(), Settings(runs=1), tmp_path / "runs")
            events = records.read(outcome.path).of("push")
            pushes.append({event["name"]: event for event in events})
    first, second = (push["net.ttm"] for push in pushes)
    assert first["file_bytes"] == second["file_bytes"] == SIZE_BYTES
    assert first["packing"] == "zstd"
    assert 0 < first["sent_bytes"] < 0.95 * SIZE_BYTES
    assert (second["sent_bytes"], second["packing"]) == (0, "")
