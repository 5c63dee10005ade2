"""Links with greetings, and links that break, freeze and return, over a real OpenSSH server."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import paramiko
import pytest

from tests.devices.conftest import SshServer
from tests.devices.fake_boot_id import BOOT_ID, play_boot_id
from tests.devices.servers import kill_sessions
from tests.devices.ssh.conftest import Home
from trimtab.devices import Device, find_device, ssh
from trimtab.devices.limits import TimeLimits
from trimtab.devices.ssh import client
from trimtab.errors import (
    DeviceError,
    DeviceOutputError,
    DeviceRebootedError,
    DeviceTimeoutError,
    DeviceUnreachableError,
    RunnerError,
)

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("each_client")]


@pytest.fixture
def server(start_sshd: Callable[..., SshServer], config: Path) -> SshServer:
    """A separate server for faults, as the device `board1`."""
    server = start_sshd()
    server.define(config, "board1")
    return server


@pytest.fixture
def device(server: SshServer) -> Iterator[Device]:
    """A device connected to `server`."""
    with find_device("board1").open(trust_new=True) as device:
        yield device


GREETINGS = (
    'echo hello; echo from profile; eval "$SSH_ORIGINAL_COMMAND"; echo good bye',
    'echo hello >&2; eval "$SSH_ORIGINAL_COMMAND"; echo good bye >&2',
    'echo "$SSH_ORIGINAL_COMMAND"; echo "$SSH_ORIGINAL_COMMAND" >&2; eval "$SSH_ORIGINAL_COMMAND"',
    r'printf "no end of line"; printf "\000\377" >&2; eval "$SSH_ORIGINAL_COMMAND"; exit 9',
)


@pytest.mark.parametrize("greeting", GREETINGS)
def test_the_output_of_a_login_script_stays_out_of_results(
    start_sshd: Callable[..., SshServer], config: Path, tmp_path: Path, greeting: str
) -> None:
    server = start_sshd(f"ForceCommand {greeting}")
    server.define(config, "board1")
    (tmp_path / "file").write_bytes(b"content")
    with find_device("board1").open(trust_new=True) as device:
        pushed = Path(device.push(tmp_path / "file").path)
        assert pushed.is_relative_to(server.folder / "remote")
        assert pushed.read_bytes() == b"content"
        result = device.run(["sh", "-c", "printf x; printf y >&2; exit 3"], timeout_s=10)
        assert (result.stdout, result.stderr, result.exit_code) == (b"x", b"y", 3)
        with pytest.raises(DeviceTimeoutError, match="ended there"):
            device.run(["sleep", "30"], timeout_s=0.5)
        assert device.describe().boot_id == Path(BOOT_ID).read_text().strip()


def test_output_behind_the_result_does_not_end_the_connection(
    start_sshd: Callable[..., SshServer], config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close(fd: int) -> None:
        """The original, behind which another thread runs."""
        os.close(fd)
        time.sleep(0.15)

    monkeypatch.setattr("paramiko.pipe.os", SimpleNamespace(**{**vars(os), "close": close}))
    server = start_sshd('ForceCommand eval "$SSH_ORIGINAL_COMMAND"; sleep 0.1; echo good bye')
    server.define(config, "board1")
    with find_device("board1").open(trust_new=True) as device:
        connection = ["sh", "-c", "echo $SSH_CONNECTION"]
        first, second = (device.run(connection, timeout_s=10).stdout for _ in range(2))
        assert first == second


def test_a_login_that_refuses_every_command_is_no_success(
    start_sshd: Callable[..., SshServer], config: Path
) -> None:
    start_sshd("ForceCommand echo This account is not available; exit 0").define(config, "board1")
    with (
        pytest.raises(DeviceError, match="not available"),
        find_device("board1").open(trust_new=True),
    ):
        pass


def test_a_runner_that_prints_too_much_is_a_failure_of_the_runner(device: Device) -> None:
    with pytest.raises(DeviceOutputError, match=r"67,108,864") as caught:
        device.run(["yes"], timeout_s=60)
    assert isinstance(caught.value, RunnerError)
    with pytest.raises(DeviceOutputError):
        device.run(["sh", "-c", "yes >&2"], timeout_s=60)
    assert device.run(["echo", "on we go"], timeout_s=10).stdout == b"on we go\n"


def test_the_command_after_a_cut_reconnects(server: SshServer, device: Device) -> None:
    kill_sessions(server.pid)
    with pytest.raises(DeviceUnreachableError):
        device.run(["true"], timeout_s=10)
    assert device.run(["echo", "back"], timeout_s=10).stdout == b"back\n"


def test_a_server_that_comes_back_later_is_waited_for(
    server: SshServer, device: Device, config: Path, start_sshd: Callable[..., SshServer]
) -> None:
    stop(server)
    with pytest.raises(DeviceUnreachableError):
        device.run(["true"], timeout_s=10)

    def restart() -> None:
        time.sleep(1.5)
        start_sshd(again=server)

    thread = threading.Thread(target=restart)
    thread.start()
    try:
        assert device.run(["echo", "back"], timeout_s=10).stdout == b"back\n"
    finally:
        thread.join()


def stop(server: SshServer) -> None:
    kill_sessions(server.pid)  # which nobody finds once their parent is gone
    os.kill(server.pid, signal.SIGTERM)
    os.waitpid(server.pid, 0)


def test_a_device_that_stays_away_is_given_up(
    server: SshServer, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(device, ssh.SshDevice)
    device.limits = TimeLimits(reconnect_s=1)
    stop(server)
    for _ in range(2):
        started = time.monotonic()
        with pytest.raises(DeviceUnreachableError):
            device.run(["true"], timeout_s=10)
        assert time.monotonic() - started < 10


def test_a_reboot_is_reported_once(
    server: SshServer, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot_id = tmp_path / "boot_id"
    boot_id.write_text("first\n")
    play_boot_id(monkeypatch.setattr, boot_id)
    with find_device("board1").open(trust_new=True) as device:
        for words, is_rebooted in (("first\n", False), ("second\n", True), ("second\n", False)):
            kill_sessions(server.pid)
            with pytest.raises(DeviceUnreachableError):
                device.run(["true"], timeout_s=10)
            boot_id.write_text(words)
            if is_rebooted:
                with pytest.raises(DeviceRebootedError, match="rebooted"):
                    device.run(["true"], timeout_s=10)
            assert device.run(["true"], timeout_s=10).ok


@contextmanager
def frozen(server: SshServer) -> Iterator[None]:
    """Stops all sessions of the server without ending them, as a pulled cable does."""
    stopped = descendants(server.pid)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    yield
    for pid in stopped:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [p for child in children for p in (int(child), *descendants(int(child)))]


def test_a_frozen_connection_ends(server: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ALIVE_S", 1)
    with find_device("board1").open(trust_new=True) as device:
        started = time.monotonic()
        with frozen(server), pytest.raises(DeviceUnreachableError, match="not responding"):
            device.run(["sleep", "30"], timeout_s=60)
        assert time.monotonic() - started < 20
        assert device.run(["true"], timeout_s=10).ok


def test_a_frozen_jump_host_ends_the_connection(
    home: Home,
    sshd: SshServer,
    start_sshd: Callable[..., SshServer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "ALIVE_S", 1)
    jump = start_sshd()
    home.write(home.host("jump", jump) + home.host("alias", sshd, "ProxyJump jump"))
    for server in (jump, sshd):
        home.knows(server)
    (tmp_path / "file").write_bytes(os.urandom(32 << 20))
    with find_device("board1").open() as device:
        with frozen(jump), pytest.raises(DeviceUnreachableError):
            device.push(tmp_path / "file")
        assert device.run(["true"], timeout_s=10).ok


def test_a_time_out_over_a_frozen_connection_claims_no_kill(
    server: SshServer, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(device, ssh.SshDevice)
    device.limits = TimeLimits(kill_s=1)
    freeze = frozen(server)
    timer = threading.Timer(0.5, freeze.__enter__)
    timer.start()
    with pytest.raises(DeviceUnreachableError, match="may still run there"):
        device.run(["sleep", "30"], timeout_s=2)
    freeze.__exit__(None, None, None)
    assert device.run(["true"], timeout_s=10).ok, "over another connection"


def test_nothing_is_left_of_a_connection(
    device: Device, server: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(device, ssh.SshDevice)
    device.__exit__()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        with device.clone():
            sockets = [*Path(folder).glob("trimtab-ssh-*/s")]
            assert len(sockets) == (device.connection.startswith("openssh"))
        assert not [*Path(folder).iterdir()]
    deadline = time.monotonic() + 5
    while (descendants(server.pid) or threads()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert descendants(server.pid) == []
    assert threads() == []


def threads() -> list[threading.Thread]:
    """The threads of paramiko's connections."""
    running = threading.enumerate()
    return [t for t in running if isinstance(t, paramiko.Transport) or "_watch" in t.name]


@pytest.mark.parametrize("each_client", ["openssh"], indirect=True)  # paramiko needs no session
def test_no_command_begins_before_the_session_of_the_connection_itself(
    start_sshd: Callable[..., SshServer], config: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    gate.write_text(
        f"""
        case "$SSH_ORIGINAL_COMMAND" in
        *"read -r end_of_input"*) sleep 1; touch {tmp_path}/begun ;;
        *) [ -e {tmp_path}/begun ] || touch {tmp_path}/early ;;
        esac
        exec sh -c "$SSH_ORIGINAL_COMMAND"
        """
    )
    start_sshd(f"ForceCommand /bin/sh {gate}").define(config, "board1")
    with find_device("board1").open(trust_new=True) as device:
        assert device.run(["true"], timeout_s=30).ok
    assert (tmp_path / "begun").exists()
    assert not (tmp_path / "early").exists()
