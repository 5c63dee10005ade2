"""The contract of all transports."""

from __future__ import annotations

import hashlib
import os
import secrets
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.devices.conftest import Subject
from trimtab.devices import CommandResult, PushedFile, Transcript
from trimtab.errors import DeviceError, DeviceOutputError, DeviceTimeoutError

pytestmark = pytest.mark.device

ODD_WORDS = (
    "",
    " ",
    "a b",
    "'",
    '"',
    "$HOME",
    "`id`",
    "$(id)",
    "*",
    "\\",
    "a\nb",
    "-n",
    "ü€",
    "!",
    "#x",
    "~",
    "a;b|c&d>e",
)


def run_probe(subject: Subject, *words: str, timeout_s: float = 30) -> CommandResult:
    return subject.device.run(
        [subject.device.push(subject.probe).path, *words], timeout_s=timeout_s
    )


def test_describes_itself(subject: Subject) -> None:
    info = subject.device.describe()
    is_local = subject.device.name in {"local", "loopback", "place", "phone"}
    assert info.machine == (os.uname().machine if is_local else "aarch64")
    assert info.is_emulated == (not is_local)
    assert info.memory_bytes is not None
    assert info.memory_bytes > 2**28
    assert info.cpu_count is not None
    assert info.boot_id
    if not is_local:
        assert info.cpu == "cortex-a53"


def test_pushed_bytes_arrive_unchanged_and_come_back(subject: Subject, tmp_path: Path) -> None:
    local = tmp_path / "it's a name.bin"
    local.write_bytes(os.urandom(300_001))
    remote = subject.device.push(local).path
    assert hashlib.sha256(local.read_bytes()).hexdigest() in remote
    subject.device.pull(remote, tmp_path / "new" / "back.bin")
    assert (tmp_path / "new" / "back.bin").read_bytes() == local.read_bytes()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["back.bin"]


def test_a_second_push_moves_nothing(subject: Subject, tmp_path: Path) -> None:
    local = tmp_path / "twice.bin"
    local.write_bytes(os.urandom(1000))
    first = subject.device.push(local)
    assert first.sent_bytes == 1000
    assert subject.device.push(local) == PushedFile(first.path, sent_bytes=0)


def test_a_copy_that_was_damaged_on_the_device_is_pushed_again(
    subject: Subject, tmp_path: Path
) -> None:
    local = tmp_path / "damaged.bin"
    local.write_bytes(b"right" + os.urandom(100))
    remote = subject.device.push(local).path
    overwrite(subject, remote)
    assert subject.device.push(local).path == remote
    subject.device.pull(remote, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == local.read_bytes()


def overwrite(subject: Subject, remote: str) -> None:
    """Damages a remote file behind the device's back."""
    if subject.device.name == "board":
        assert subject.device.run(["sh", "-c", f"echo wrong >'{remote}'"], timeout_s=10).ok
    else:
        Path(remote).write_bytes(b"wrong")


def test_a_big_file_arrives(subject: Subject, tmp_path: Path) -> None:
    local = tmp_path / "big.bin"
    local.write_bytes(os.urandom(1 << 20) * 5)
    remote = subject.device.push(local).path
    subject.device.pull(remote, tmp_path / "back.bin")
    assert (tmp_path / "back.bin").read_bytes() == local.read_bytes()


def test_an_empty_file_arrives(subject: Subject, tmp_path: Path) -> None:
    local = tmp_path / "empty.bin"
    local.write_bytes(b"")
    subject.device.pull(subject.device.push(local).path, tmp_path / "back.bin")
    assert (tmp_path / "back.bin").read_bytes() == b""


def test_arguments_arrive_letter_by_letter(subject: Subject) -> None:
    result = run_probe(subject, "args", *ODD_WORDS)
    words = [bytes.fromhex(line).decode() for line in result.stdout.decode().split("\n")[:-1]]
    assert tuple(words) == ODD_WORDS
    assert result.stderr == b""


@pytest.mark.parametrize("code", [0, 1, 42, 127, 255])
def test_exit_codes_come_back(subject: Subject, code: int) -> None:
    result = run_probe(subject, "exit", str(code))
    assert result == CommandResult(code, None, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_signal_differs_from_an_exit_code(subject: Subject, number: signal.Signals) -> None:
    result = run_probe(subject, "raise", str(int(number)))
    assert result.signal == number
    assert result.exit_code == 128 + number
    assert not result.ok


def test_both_outputs_arrive_complete_and_separate(subject: Subject) -> None:
    result = run_probe(subject, "flood", str(1 << 20))
    assert result.stdout == b"x" * (1 << 20)
    assert result.stderr == b"y" * (1 << 20)


def test_environment_and_working_directory_are_passed(subject: Subject) -> None:
    program = subject.device.push(subject.probe).path
    with subject.device.scratch() as folder:
        result = subject.device.run(
            [program, "env", "TRIMTAB_X"], timeout_s=30, env={"TRIMTAB_X": "a 'b' $c"}, cwd=folder
        )
        assert result.stdout == b"a 'b' $c"
        where = subject.device.run([program, "where"], timeout_s=30, cwd=folder)
        assert where.stdout.decode() == folder


def test_stdin_is_empty(subject: Subject) -> None:
    assert run_probe(subject, "stdin").stdout == b"0"


def test_a_program_that_is_not_there_is_reported(subject: Subject) -> None:
    with subject.device.scratch() as folder:
        result = subject.device.run([f"{folder}/absent"], timeout_s=30)
    assert not result.ok
    assert b"absent" in result.stderr


def test_a_timeout_kills_the_whole_process_group(subject: Subject, tmp_path: Path) -> None:
    program = subject.device.push(subject.probe).path
    with subject.device.scratch() as folder:
        with pytest.raises(DeviceTimeoutError, match="1 s"):
            subject.device.run([program, "beat", "beats"], timeout_s=1, cwd=folder)
        sizes = []
        for name in ("first", "second"):
            subject.device.pull(f"{folder}/beats", tmp_path / name)
            sizes.append((tmp_path / name).stat().st_size)
            time.sleep(0.3)
        assert sizes[0] == sizes[1] > 0
    assert run_probe(subject, "exit", "3").exit_code == 3


def test_output_before_a_timeout_is_in_the_transcript(subject: Subject) -> None:
    program, transcript = subject.device.push(subject.probe).path, Transcript()
    with pytest.raises(DeviceTimeoutError):
        subject.device.run([program, "say", "hello"], timeout_s=2, transcript=transcript)
    assert transcript.stdout == b"hello\n"


def test_the_transcript_of_a_command_that_ends_is_its_output(subject: Subject) -> None:
    program, transcript = subject.device.push(subject.probe).path, Transcript()
    result = subject.device.run([program, "args", "x"], timeout_s=30, transcript=transcript)
    assert transcript.stdout == result.stdout == b"78\n"


def test_output_without_end_is_cut_and_its_command_ended(subject: Subject) -> None:
    program, transcript = subject.device.push(subject.probe).path, Transcript(limit_bytes=100_000)
    # Parallel tests run the same program; a unique length identifies this one.
    length = str(1_000_000_000 + secrets.randbelow(1_000_000_000))
    with pytest.raises(DeviceOutputError, match="more than 100,000 bytes"):
        subject.device.run([program, "flood", length], timeout_s=30, transcript=transcript)
    assert len(transcript.stdout) == 100_000
    assert not is_running(subject, length)


def is_running(subject: Subject, word: str) -> bool:
    """Whether a process has this word in its command line, on the board or this machine."""
    script = "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'"
    if subject.device.name == "board":
        return word in subject.device.run(["sh", "-c", script], timeout_s=10).stdout.decode()
    words = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    return word in words.stdout.splitlines()


def test_scratch_directories_are_fresh_and_removed(subject: Subject, tmp_path: Path) -> None:
    program = subject.device.push(subject.probe).path
    with subject.device.scratch() as first, subject.device.scratch() as second:
        assert first != second
        assert subject.device.run([program, "exit", "0"], timeout_s=30, cwd=first).ok
    with pytest.raises(DeviceError):
        subject.device.pull(f"{first}/anything", tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside", "cache/../../outside"])
def test_refuses_paths_outside_of_its_prefix(subject: Subject, path: str, tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="outside"):
        subject.device.pull(path, tmp_path / "stolen")
    with pytest.raises(DeviceError, match="outside"):
        subject.device.run(["true"], timeout_s=10, cwd=path)


def test_refuses_a_file_that_is_not_there(subject: Subject, tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="cannot read"):
        subject.device.push(tmp_path / "absent.bin")


def test_refuses_impossible_arguments(subject: Subject) -> None:
    program = subject.device.push(subject.probe).path
    with pytest.raises(DeviceError, match="NUL"):
        subject.device.run([program, "a\0b"], timeout_s=10)
    with pytest.raises(DeviceError, match="environment"):
        subject.device.run([program], timeout_s=10, env={"a b": "c"})
    with pytest.raises(DeviceError, match="program"):
        subject.device.run([], timeout_s=10)
