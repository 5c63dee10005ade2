"""A home folder with an SSH configuration, and an agent, in place of the user's own."""

from __future__ import annotations

import getpass
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.devices.conftest import CLIENT, SshServer, require
from trimtab.devices import find_device

DEFINITION = "doc = 'x'\ntransport = 'ssh'\ntoolchain = 'host'\nhost = 'alias'\n"


class Home:
    """A home folder with the SSH configuration of a test."""

    def __init__(self, folder: Path, config: Path) -> None:
        self.ssh = folder / ".ssh"
        self.ssh.mkdir(parents=True, mode=0o700)
        (config / "devices").mkdir(parents=True)
        self.define(config)
        self.known_hosts = self.ssh / "known_hosts"

    def define(self, config: Path, *lines: str, client: str = "") -> None:
        text = f"{DEFINITION}client = '{client or CLIENT['name']}'\n"
        text += "".join(f"{line}\n" for line in lines)
        (config / "devices" / "board1.toml").write_text(text)

    def write(self, text: str, name: str = "config") -> None:
        (self.ssh / name).write_text(text)

    def knows(self, server: SshServer, name: str = "") -> None:
        """Adds the server to known_hosts, as a first login does."""
        with self.known_hosts.open("a") as file:
            file.write(f"{name or f'[127.0.0.1]:{server.port}'} {server.host_key.read_text()}")

    def host(self, name: str, server: SshServer, *lines: str) -> str:
        """The lines of one host in an SSH configuration."""
        own = [f"HostName 127.0.0.1\nPort {server.port}\nIdentityFile {server.client_key}\n"]
        own += [f"User {getpass.getuser()}\nUserKnownHostsFile {self.known_hosts}\n"]
        return "".join([f"Host {name}\n", *own, *(f"{line}\n" for line in lines)])


@pytest.fixture
def home(tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home folder in place of the user's, without an agent."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return Home(tmp_path / "home", config)


def port_reached() -> int:
    """Connects to the device. Returns the port of the server that answered."""
    with find_device("board1").open() as device:
        words = ["sh", "-c", "echo $SSH_CONNECTION"]
        return int(device.run(words, timeout_s=30).stdout.split()[3])


def stop(server: SshServer) -> None:
    os.kill(server.pid, signal.SIGTERM)
    os.waitpid(server.pid, 0)


@pytest.fixture
def empty_agent(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An agent without keys."""
    socket = tmp_path / "agent"
    process = subprocess.Popen(
        [require("ssh-agent", "openssh-client"), "-D", "-a", socket], stdout=subprocess.DEVNULL
    )
    monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
    while not socket.exists():
        assert process.poll() is None
    yield
    process.terminate()
    process.wait()
