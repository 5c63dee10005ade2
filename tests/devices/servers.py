"""Servers of the test devices: adb's daemon, and a farm of labgrid."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import tomli_w

HERE = Path(__file__).parent


def require(program: str, package: str) -> str:
    """The path of a program. Without it the test is skipped; on CI it fails."""
    return _find(program, f"apt-get install {package}", "/usr/sbin:/sbin")


def sessions(listener: int) -> str:
    """A substitution of the shell: the processes behind all connections of an SSH server.

    From OpenSSH 9.8 on, those of root have a child that holds the connection.
    """
    return (
        f"$(for p in $(cat /proc/{listener}/task/{listener}/children); do echo $p; "
        "for c in $(cat /proc/$p/task/$p/children); do "
        "grep -q ^sshd /proc/$c/comm && echo $c; done; done 2>/dev/null)"
    )


def kill_sessions(listener: int) -> None:
    """Ends the processes behind all connections, as a power cut would; some may just have ended."""
    subprocess.run(
        ["sh", "-c", f"kill -9 {sessions(listener)}"], stderr=subprocess.DEVNULL, check=False
    )


def unpunished(sshd: str) -> str:
    """The line of sshd_config with which a server answers again at once after a refused login.

    OpenSSH 9.8 and later keep an address waiting; earlier ones do not know the line.
    """
    done = subprocess.run([sshd, "-V"], capture_output=True, text=True, check=False)
    version = re.search(r"OpenSSH_(\d+)\.(\d+)", done.stdout + done.stderr)
    is_new = version is not None and (int(version[1]), int(version[2])) >= (9, 8)
    return "PerSourcePenalties no" if is_new else ""


def _find(program: str, remedy: str, beside: str) -> str:
    """The path of a program on PATH or in `beside`."""
    path = shutil.which(program) or shutil.which(program, path=beside)
    if path is None:
        reason = f"{program} is not installed ({remedy})"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@dataclass(frozen=True)
class Android:
    """A running adbd of ours on loopback, with Android's shell and tools."""

    folder: Path
    port: int
    process: subprocess.Popen[str]

    @property
    def serial(self) -> str:
        """The device's serial in adb."""
        return f"127.0.0.1:{self.port}"

    def define(self, config: Path, name: str, **changes: str) -> None:
        """Writes the definition of a device for this adbd."""
        fields = {"doc": "adbd", "transport": "adb", "toolchain": "host", "serial": self.serial}
        fields |= {"directory": str(self.folder / "remote")} | changes
        (config / "devices").mkdir(parents=True, exist_ok=True)
        (config / "devices" / f"{name}.toml").write_text(tomli_w.dumps(fields))


def start_android(folder: Path, port: int, *features: str) -> Android:
    """Starts the adbd of tests/devices/adbd.py, with mksh and toybox as Android has them."""
    toybox = require("toybox", "toybox")
    (folder / "bin").mkdir()
    (folder / "bin" / "sh").symlink_to(require("mksh", "mksh"))
    names = subprocess.run([toybox], capture_output=True, text=True, check=True).stdout
    for name in ("toybox", *names.split()):
        (folder / "bin" / name).symlink_to(toybox)
    process = subprocess.Popen(
        [sys.executable, HERE / "adbd.py", folder / "bin", str(port), *features],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    return Android(folder, int(process.stdout.readline()), process)


@dataclass(frozen=True)
class Farm:
    """A labgrid coordinator and an exporter on loopback, with the place `place1`: one server."""

    folder: Path
    coordinator: str
    key: Path

    def client(self, *words: str, **environment: str) -> str:
        """The output of labgrid's client for the place."""
        argv = [*labgrid("client"), "-x", self.coordinator, "-p", "place1", *words]
        env = os.environ | environment
        return subprocess.run(argv, capture_output=True, text=True, check=True, env=env).stdout

    def wait_for(self, *words: str, expected: str = "", timeout_s: float = 60.0) -> None:
        """Repeats a command until it succeeds and prints the expected text."""
        deadline, printed = time.monotonic() + timeout_s, None
        while printed is None or expected not in printed:
            assert time.monotonic() < deadline, "".join(
                log.read_text() for log in self.folder.glob("log*")
            )
            with contextlib.suppress(subprocess.CalledProcessError):
                printed = self.client(*words)

    def owner(self) -> str:
        """The owner of the place as HOST/USER, "" for nobody."""
        owner = re.search(r"^  acquired: (\S+)$", self.client("show"), re.M)
        assert owner
        return "" if owner[1] == "None" else owner[1]

    def define(self, config: Path, name: str, **changes: str) -> None:
        """Writes the definition of a device for the place."""
        fields = {"doc": "place", "transport": "labgrid", "toolchain": "host", "place": "place1"}
        fields |= {"coordinator": self.coordinator, "key": str(self.key)}
        fields |= {"config": os.devnull, "directory": str(self.folder / "remote")} | changes
        (config / "devices").mkdir(parents=True, exist_ok=True)
        (config / "devices" / f"{name}.toml").write_text(tomli_w.dumps(fields))


def labgrid(name: str) -> list[str]:
    """The command of one of labgrid's programs: the script beside this Python, without its first
    line, which cannot hold every path.
    """
    folder = str(Path(sys.executable).parent)
    script = _find(f"labgrid-{name}", "pip install trimtab[labgrid]", folder)
    return [sys.executable, script]


@contextlib.contextmanager
def farm_of(port: int, key: Path, folder: Path) -> Iterator[Farm]:
    """A farm whose one board is an OpenSSH server on loopback."""
    programs = [labgrid("coordinator"), labgrid("exporter")]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    parameters = f"address: 127.0.0.1, username: {getpass.getuser()}, port: {port}"
    (folder / "exports.yaml").write_text(f"group1: {{NetworkService: {{{parameters}}}}}\n")
    options = (["-l", address], ["-c", address, "-n", "exporter1", "exports.yaml"])
    running: list[subprocess.Popen[bytes]] = []
    farm = Farm(folder, address, key)
    try:
        for program, words, ready in zip(programs, options, ("create", "show"), strict=True):
            log = (folder / f"log{len(running)}").open("wb")
            running.append(subprocess.Popen([*program, *words], cwd=folder, stderr=log))
            # An exporter that finds no coordinator ends.
            farm.wait_for(ready)
        farm.wait_for("add-match", "exporter1/group1/NetworkService")
        farm.wait_for("show", expected="Matching resource")
        yield farm
    finally:
        for process in running:
            process.terminate()
            process.wait()
