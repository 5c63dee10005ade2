"""Requirements on a device are checked at the first connection, and named."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import disks
from tests.bench.fakes import make_golden, make_subject
from tests.devices.chosen_programs import REQUIRED, ChosenPrograms
from tests.devices.conftest import SshServer, require
from trimtab.bench.jobs import Settings
from trimtab.bench.protocol import measure
from trimtab.devices import find_device, requirements, scripts
from trimtab.devices.control import lease
from trimtab.devices.limits import USUAL, TimeLimits
from trimtab.devices.remote import command_line
from trimtab.errors import DeviceError, DeviceFullError, DeviceRefusedError

each_client = pytest.mark.usefixtures("each_client")
pytestmark = pytest.mark.device

# Words of the shell itself; "(process" stands in a message.
BUILT_IN = {
    *(
        "break",
        "case",
        "cd",
        "command",
        "continue",
        "do",
        "done",
        "echo",
        "elif",
        "else",
        "esac",
        "eval",
    ),
    *("exec", "exit", "export", "fi", "for", "if", "kill", "pwd", "read", "return", "set", "shift"),
    *("in", "process", "then", "trap", "true", "umask", "wait", "while"),
}
# A word where a command may stand: it begins a line, or follows an operator or a word of the shell.
COMMAND = (
    r"(?:^|[;&|!]|(?<!\()\(|(?<!\$)\{|\b(?:do|then|else|if|while|exec)\s)\s*([a-z]\w*)(?![\w=)])"
)
# Messages: text in quotes without a command inside.
QUOTED = r"""'[^']*'|"(?:[^"$]|\$(?!\())*\""""


def connect(limits: TimeLimits = USUAL) -> None:
    with find_device("board1").open(trust_new=True, limits=limits):
        pass


@each_client
@pytest.mark.parametrize("shell", ["dash", "mksh"])
def test_each_program_that_a_device_lacks_is_named_with_its_package(
    start_sshd: Callable[..., SshServer], config: Path, tmp_path: Path, shell: str
) -> None:
    board = ChosenPrograms(start_sshd, config, tmp_path, shell)
    board.start()
    connect()
    packages = {program.name: program.package for program in requirements.PROGRAMS}
    for name in REQUIRED:
        if (name, shell) == ("printf", "dash"):
            continue  # which is dash itself
        (board.bin / name).rename(tmp_path / "hidden")
        with pytest.raises(DeviceError, match=f"the device lacks {name}\n") as caught:
            connect()
        assert f"apt-get install {packages[name]} (Debian)" in caught.value.hint
        (tmp_path / "hidden").rename(board.bin / name)
    for name in ("sha256sum", "mv"):
        (board.bin / name).unlink()
    with pytest.raises(DeviceError, match="the device lacks mv, sha256sum\n"):
        connect()


@each_client
def test_a_whole_measurement_uses_no_program_that_is_not_listed(
    start_sshd: Callable[..., SshServer], config: Path, tmp_path: Path
) -> None:
    board = ChosenPrograms(start_sshd, config, tmp_path)
    board.start(lease=tmp_path / "lease")
    subject = make_subject(tmp_path)
    with find_device("board1").open(trust_new=True) as device:
        outcome = measure(device, subject, make_golden(), Settings(runs=1), tmp_path / "runs")
        assert outcome.error is None
        assert device.describe().cpu_count
        assert lease.look(device) is None


def test_the_scripts_call_no_program_that_is_not_listed() -> None:
    listed = {program.name for program in requirements.PROGRAMS}
    functions = set()
    called: dict[str, str] = {}
    for path in scripts.FOLDER.glob("*.sh"):
        if path.stem == "board_rc":  # of the emulated board, which has all of busybox
            continue
        text = re.sub(QUOTED, "''", scripts.read(path.stem))
        functions |= set(re.findall(r"^(\w+)\(\) ", text, re.M))
        for word in re.findall(COMMAND, text, re.M):
            called.setdefault(word, path.name)
    unknown = {word: file for word, file in called.items() if word not in BUILT_IN | functions}
    assert {"mkdir", "sha256sum", "sleep", "uname"} <= unknown.keys(), "the pattern finds nothing"
    assert {word: file for word, file in unknown.items() if word not in listed} == {}


def test_a_clone_and_a_second_connection_in_one_boot_are_not_checked_again(
    start_sshd: Callable[..., SshServer], config: Path, tmp_path: Path
) -> None:
    board = ChosenPrograms(start_sshd, config, tmp_path)
    board.start()
    with find_device("board1").open(trust_new=True) as device:
        (board.bin / "wc").unlink()
        with device.clone() as twin:
            assert twin.run(["true"], timeout_s=30).exit_code in (0, 127)
    with pytest.raises(DeviceError, match="lacks wc"):
        connect()


@each_client
@pytest.mark.parametrize("shell", ["tcsh -f", "fish --no-config", "rbash", "busybox sh", "mksh"])
def test_any_login_shell_carries_commands(
    start_sshd: Callable[..., SshServer], config: Path, tmp_path: Path, shell: str
) -> None:
    program, *words = shlex.split(shell)
    login = shlex.join([require(program, program), *words, "-c"])
    server = start_sshd(f'ForceCommand exec {login} "$SSH_ORIGINAL_COMMAND"')
    server.define(config, "board1", directory=server.folder / "it's here, ü")
    (tmp_path / "file").write_bytes(b"content")
    with find_device("board1").open(trust_new=True) as device:
        assert Path(device.push(tmp_path / "file").path).read_bytes() == b"content"
        words = ["a b", "'", "\\", "!", "%s\n", "é", "$HOME", "`id`"]
        result = device.run(["printf", "%s|", *words], timeout_s=30)
        assert result.stdout.decode() == "".join(f"{word}|" for word in words)
        lease.acquire(device, "test", wait_s=0, note=lambda _: None).release()


@pytest.mark.parametrize("shell", ["sh", "bash", "tcsh -f", "fish --no-config", "mksh"])
def test_a_script_arrives_letter_by_letter_through_every_shell(shell: str) -> None:
    program, *words = shlex.split(shell)
    letters = "".join(map(chr, range(32, 127))) + "é\n\t!! \\\\ %% \\n \\041 '\"'"
    script = f"printf %s {shlex.quote(letters)}\n\n# !\n"
    argv = [require(program, program), *words, "-c", command_line(script)]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert shown.stdout == letters


@each_client
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("echo This account is not available; exit 1", "This account is not available"),
        ("exit 0", "it prints nothing"),
        ("echo menu; exec sleep 100", "menu"),
    ],
)
def test_a_forced_command_is_named_as_such(
    start_sshd: Callable[..., SshServer],
    config: Path,
    command: str,
    message: str,
) -> None:
    start_sshd(f"ForceCommand {command}").define(config, "board1")
    with pytest.raises(DeviceRefusedError, match=message) as caught:
        connect(TimeLimits(housekeeping_s=2, kill_s=1))
    assert "another command" in caught.value.what
    assert "ForceCommand" in caught.value.hint


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A small file system with mount options, such as `noexec`."""
    with disks.small_disk(folder, 1 << 20):
        subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)
        yield folder


@each_client
def test_a_directory_that_runs_no_programs_is_refused_at_once(
    sshd: SshServer, config: Path, tmp_path: Path
) -> None:
    with mounted(tmp_path / "disk", "noexec") as disk:
        sshd.define(config, "board1", directory=disk / "trimtab")
        with pytest.raises(DeviceError, match="runs no program") as caught:
            connect()
    assert f"{disk}/trimtab: Permission denied" in caught.value.what
    assert "`noexec`" in caught.value.hint
    assert "`directory`" in caught.value.hint


@each_client
@pytest.mark.parametrize("exists", [False, True])
def test_a_directory_that_takes_no_files_is_refused_at_once(
    sshd: SshServer, config: Path, tmp_path: Path, exists: bool
) -> None:
    with mounted(tmp_path / "disk", "rw") as disk:
        for name in ("cache", "scratch") if exists else ():
            (disk / "trimtab" / name).mkdir(parents=True)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        sshd.define(config, "board1", directory=disk / "trimtab")
        with pytest.raises(DeviceError, match="cannot be written: Read-only file system") as caught:
            connect()
    assert "`directory`" in caught.value.hint


def test_a_full_disk_does_not_keep_anybody_from_looking(
    sshd: SshServer, config: Path, tmp_path: Path
) -> None:
    with disks.small_disk(tmp_path / "disk", 1 << 20) as disk:
        sshd.define(config, "board1", directory=disk / "trimtab")
        connect()
        with (disk / "fill").open("wb") as fill, pytest.raises(OSError, match="No space"):
            fill.write(bytes(2 << 20))
        with find_device("board1").open() as device:
            assert device.describe().machine
            room = device.room()
            assert room.free_bytes is not None
            with pytest.raises(DeviceFullError, match=r"no room on the device for net\.ttm"):
                room.check(1 << 20, "net.ttm")
            assert device.room().free_bytes is not None
