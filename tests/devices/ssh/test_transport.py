"""The SSH transport against a real OpenSSH server: keys, refusals, and links that break."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import disks
from tests.bench.fakes import make_golden, make_subject
from tests.devices.conftest import SshServer, make_key
from tests.devices.servers import kill_sessions
from tests.recorded_progress import Halfway
from trimtab.bench.jobs import Settings
from trimtab.bench.protocol import measure
from trimtab.devices import find_device
from trimtab.devices.ssh import client
from trimtab.errors import (
    DeviceError,
    DeviceFullError,
    DeviceRefusedError,
    DeviceUnreachableError,
    HostKeyError,
)
from trimtab.results import records
from trimtab.results.records import Status

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("each_client")]


def connect(name: str, *, trust_new: bool = False) -> None:
    with find_device(name).open(trust_new=trust_new):
        pass


def test_rejects_an_unknown_host_key_and_pins_nothing(sshd: SshServer, config: Path) -> None:
    sshd.define(config, "board1")
    with pytest.raises(HostKeyError, match="unknown host key") as caught:
        connect("board1")
    assert fingerprint(sshd.host_key) in str(caught.value)
    assert not (config / "known_hosts").exists()


def fingerprint(key: Path) -> str:
    words = subprocess.run(["ssh-keygen", "-lf", key], capture_output=True, text=True, check=True)
    return words.stdout.split()[1]


def test_trust_new_pins_the_key_for_later(sshd: SshServer, config: Path) -> None:
    sshd.define(config, "board1")
    connect("board1", trust_new=True)
    assert sshd.host_key.read_text().split()[1] in (config / "known_hosts" / "board1").read_text()
    connect("board1")


def test_pins_are_kept_per_device(sshd: SshServer, config: Path) -> None:
    sshd.define(config, "board1")
    sshd.define(config, "board2")
    connect("board1", trust_new=True)
    with pytest.raises(HostKeyError):
        connect("board2")


def test_rejects_a_changed_host_key_even_with_trust_new(
    start_sshd: Callable[..., SshServer], config: Path
) -> None:
    first = start_sshd()
    first.define(config, "board1")
    connect("board1", trust_new=True)
    os.kill(first.pid, signal.SIGTERM)
    os.waitpid(first.pid, 0)
    second = start_sshd(port=first.port)
    second.define(config, "board1")
    for trust_new in (False, True):
        with pytest.raises(HostKeyError, match="changed") as caught:
            connect("board1", trust_new=trust_new)
    assert fingerprint(first.host_key) in str(caught.value)
    assert fingerprint(second.host_key) in str(caught.value)


def test_a_key_the_server_does_not_accept_is_refused(
    sshd: SshServer, config: Path, tmp_path: Path
) -> None:
    sshd.define(config, "board1", key=make_key(tmp_path / "other"))
    with pytest.raises(DeviceRefusedError, match="authentication"):
        connect("board1", trust_new=True)


def test_a_key_with_a_passphrase_is_refused_with_advice(
    sshd: SshServer, config: Path, tmp_path: Path
) -> None:
    sshd.define(config, "board1", key=make_key(tmp_path / "locked", "secret"))
    with pytest.raises(DeviceRefusedError, match="ssh-agent"):
        connect("board1", trust_new=True)


def test_a_key_file_that_is_not_there_is_named(sshd: SshServer, config: Path) -> None:
    sshd.define(config, "board1", key="/nowhere/id")
    with pytest.raises(DeviceError, match="/nowhere/id"):
        connect("board1")


@pytest.mark.parametrize("content", [b"no key at all", bytes(range(256)), b""])
def test_a_file_that_is_no_key_is_refused(
    sshd: SshServer, config: Path, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "nonsense").write_bytes(content)
    sshd.define(config, "board1", key=tmp_path / "nonsense")
    with pytest.raises(DeviceError, match="key"):
        connect("board1", trust_new=True)


def test_a_port_where_nothing_listens_is_unreachable(sshd: SshServer, config: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        sshd.define(config, "board1", port=unused.getsockname()[1])
        with pytest.raises(DeviceUnreachableError):
            connect("board1")


def test_an_impossible_host_name_is_named_with_its_key(sshd: SshServer, config: Path) -> None:
    sshd.define(config, "board1", host=f"{'a' * 64}.local")  # RFC 1035: 63 octets at most
    with pytest.raises(DeviceUnreachableError, match="aaaa") as caught:
        connect("board1")
    assert "`host`" in caught.value.hint


def test_a_name_that_does_not_resolve_is_unreachable(sshd: SshServer, config: Path) -> None:
    sshd.define(config, "board1", host="no-such-host.invalid")
    with pytest.raises(DeviceUnreachableError, match=r"no-such-host\.invalid"):
        connect("board1")


@pytest.mark.parametrize("greeting", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_a_server_that_does_not_speak_ssh_is_unreachable(
    sshd: SshServer, config: Path, monkeypatch: pytest.MonkeyPatch, greeting: bytes
) -> None:
    monkeypatch.setattr(client, "CONNECT_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        sshd.define(config, "board1", port=server.getsockname()[1])
        answer = threading.Thread(target=lambda: server.accept()[0].sendall(greeting))
        answer.start()
        with pytest.raises(DeviceUnreachableError):
            connect("board1")
        answer.join()


def test_a_connection_that_breaks_during_a_command_is_noticed(
    start_sshd: Callable[..., SshServer], config: Path
) -> None:
    server = start_sshd()
    server.define(config, "board1")

    def cut() -> None:
        time.sleep(0.5)
        kill_sessions(server.pid)

    with find_device("board1").open(trust_new=True) as device:
        cutter = threading.Thread(target=cut)
        cutter.start()
        started = time.monotonic()
        with pytest.raises(DeviceUnreachableError):
            device.run(["sleep", "20"], timeout_s=30)
        assert time.monotonic() - started < 10
        cutter.join()


HANGS = "is_golden or ([say('run', i=i, ns=70 + i, instructions=None) for i in range(3)], "


def test_samples_that_arrived_before_a_time_out_are_in_its_record(
    sshd: SshServer, config: Path, tmp_path: Path
) -> None:
    sshd.define(config, "board1")
    subject = make_subject(tmp_path, f"{HANGS}time.sleep(60))")
    with find_device("board1").open(trust_new=True) as device:
        outcome = measure(device, subject, make_golden(), Settings(timeout_s=4.0), tmp_path)
    record = records.read(outcome.path)
    assert record.status is Status.TIMEOUT
    assert [event["ns"] for event in record.of("run")] == [70, 71, 72]


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("compress", [False, True])
def test_an_interrupted_push_leaves_nothing_behind(
    sshd: SshServer, config: Path, tmp_path: Path, compress: bool
) -> None:
    sshd.define(config, "board1", directory=sshd.folder / "interrupted", compress=compress)
    (tmp_path / "x").write_bytes(bytes(1 << 20))
    with find_device("board1").open(trust_new=True) as device:
        with pytest.raises(KeyboardInterrupt):
            device.push(tmp_path / "x", Halfway(interrupt))
        assert files_below(sshd.folder / "interrupted") == []


def files_below(folder: Path) -> list[Path]:
    deadline = time.monotonic() + 5  # the remote shell cleans up after the channel is closed
    while True:
        files = [path for path in folder.rglob("*") if path.is_file()]
        if not files or time.monotonic() > deadline:
            return files
        time.sleep(0.05)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    with disks.small_disk(tmp_path / "small", 1 << 20) as folder:
        yield folder


@pytest.mark.parametrize("does_df_lie", [False, True])
def test_a_full_disk_is_reported_and_nothing_is_left(
    start_sshd: Callable[..., SshServer],
    config: Path,
    small_disk: Path,
    tmp_path: Path,
    does_df_lie: bool,
) -> None:
    extra = []
    if does_df_lie:  # so that it is the write that fails, half-way
        liar = tmp_path / "bin" / "df"
        liar.parent.mkdir()
        liar.write_text("#!/bin/sh\necho tmpfs 999999999 0 999999999 0% /\n")
        liar.chmod(0o755)
        extra = [f"SetEnv PATH={liar.parent}:/usr/bin:/bin"]
    server = start_sshd(*extra)
    server.define(config, "board1", directory=small_disk)
    content = tmp_path / "content"
    content.write_bytes(os.urandom(3 << 20))
    with find_device("board1").open(trust_new=True) as device:
        with pytest.raises(DeviceFullError, match="no room"):
            device.push(content)
        assert files_below(small_disk) == []
        content.write_bytes(b"small")
        assert device.push(content)
