"""Devices for tests: this machine, QEMU user mode, OpenSSH servers, an adbd, the QEMU board."""

from __future__ import annotations

import contextlib
import functools
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import tomli_w

from tests.devices.servers import Android, Farm, farm_of, require, start_android, unpunished
from trimtab import paths
from trimtab.build import cmake_runner, toolchain
from trimtab.devices import Device, InstructionCounter, board, find_device

__all__ = ["require"]  # re-exported for other tests

HERE = Path(__file__).parent
CACHE = str(paths.cache())  # before a test changes it
TRANSPORTS = ("local", "qemu_user", "ssh", "ssh-openssh", "labgrid", "adb", "board")
CLIENTS = ("paramiko", "openssh")
CLIENT = {"name": ""}  # the client that `SshServer.define` writes; "": chosen automatically


def require_counting() -> None:
    """Skips the test if the distribution's QEMU has no TCG plug-ins."""
    require("qemu-aarch64", "qemu-user")
    with find_device("qemu-a53").open() as emulator:
        assert isinstance(emulator, InstructionCounter)
        if not emulator.can_count_instructions():
            pytest.skip("this QEMU was built without TCG plug-ins")


# Linked as the runner is, by the rule for C++: zig compiles a C library for each set of link flags.
_ONE_FILE = """
cmake_minimum_required(VERSION 3.28)
project(one_file C CXX)
add_executable(program "{source}")
target_compile_options(program PRIVATE -O1)
set_target_properties(program PROPERTIES LINKER_LANGUAGE CXX)
"""


def compile_c(source: Path, name: str, folder: Path) -> Path:
    """The program that toolchain `name` builds from one C file in `folder`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIMTAB_CACHE_DIR", CACHE)
        cmake_file = toolchain.cmake_file(toolchain.find_toolchain(name))
    (folder / "CMakeLists.txt").write_text(_ONE_FILE.format(source=source))
    tree = folder / "build"
    definitions = {
        "CMAKE_TOOLCHAIN_FILE": cmake_file,
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_MAKE_PROGRAM": cmake_runner.ninja(),
    }
    configure = [cmake_runner.cmake(), "-G", "Ninja", "-S", str(folder), "-B", str(tree)]
    configure += [f"-D{key}={value}" for key, value in definitions.items()]
    for command in (configure, [cmake_runner.ninja(), "-C", str(tree)]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return tree / "program"


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Compiles tests/devices/probe.c with a toolchain, once each."""
    return functools.cache(
        lambda name: compile_c(HERE / "probe.c", name, tmp_path_factory.mktemp(f"probe-{name}"))
    )


@dataclass(frozen=True)
class SshServer:
    """A running OpenSSH server on loopback that accepts one key."""

    folder: Path
    port: int
    pid: int
    client_key: Path
    host_key: Path

    def define(self, config: Path, name: str, **changes: object) -> None:
        """Writes the definition of a device for this server."""
        fields: dict[str, object] = {
            "doc": "OpenSSH on loopback",
            "transport": "ssh",
            "toolchain": "host",
            "host": "127.0.0.1",
            "port": self.port,
            "user": getpass.getuser(),
            "key": str(self.client_key),
            "config": os.devnull,
            "client": CLIENT["name"],
            "directory": str(self.folder / "remote"),
        } | changes
        plain = {key: v if isinstance(v, int) else str(v) for key, v in fields.items()}
        (config / "devices").mkdir(parents=True, exist_ok=True)
        (config / "devices" / f"{name}.toml").write_text(tomli_w.dumps(plain))


@pytest.fixture(params=CLIENTS)
def each_client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each SSH client in turn, for all servers that the test defines as devices."""
    monkeypatch.setitem(CLIENT, "name", request.param)
    return str(request.param)


def make_key(path: Path, passphrase: str = "", *, kind: str = "ed25519") -> Path:
    """A new SSH key pair; the public key is in `path`.pub."""
    keygen = require("ssh-keygen", "openssh-client")
    subprocess.run([keygen, "-q", "-t", kind, "-N", passphrase, "-f", path], check=True)
    return path


@pytest.fixture(scope="session")
def start_sshd(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., SshServer]]:
    """Starts OpenSSH servers. `extra`: lines of sshd_config; `again`: a stopped server."""
    sshd = require("sshd", "openssh-server")
    running: list[subprocess.Popen[bytes]] = []

    def start(
        *extra: str, port: int = 0, again: SshServer | None = None, kbd_interactive: str = "no"
    ) -> SshServer:
        folder = again.folder if again else tmp_path_factory.mktemp("sshd")
        port = again.port if again else port
        folder.chmod(0o700)
        for name in () if again else ("host", "client"):
            make_key(folder / name)
        if not port:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        (folder / "sshd_config").write_text(
            f"""
            Port {port}
            ListenAddress 127.0.0.1
            HostKey {folder}/host
            AuthorizedKeysFile {folder}/client.pub
            PidFile {folder}/pid
            StrictModes no
            UsePAM no
            PasswordAuthentication no
            KbdInteractiveAuthentication {kbd_interactive}
            PermitRootLogin prohibit-password
            {unpunished(sshd)}
            {chr(10).join(extra)}
            # Without the start-up files of the user. The first of several lines counts.
            SetEnv HOME={folder}
            """
        )
        process = subprocess.Popen(
            [sshd, "-D", "-e", "-f", str(folder / "sshd_config")],
            stderr=(folder / "log").open("wb"),
        )
        running.append(process)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return SshServer(folder, port, process.pid, folder / "client", folder / "host.pub")
            time.sleep(0.02)
        pytest.fail((folder / "log").read_text())

    yield start
    for process in running:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def sshd(start_sshd: Callable[..., SshServer]) -> SshServer:
    """The OpenSSH server of all tests that do not change it."""
    return start_sshd()


@pytest.fixture(scope="session")
def farm(sshd: SshServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    """A farm of one board, which is the OpenSSH server."""
    with farm_of(sshd.port, sshd.client_key, tmp_path_factory.mktemp("labgrid")) as farm:
        yield farm


@pytest.fixture(scope="session")
def start_adbd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Android]]:
    """Starts adbds of tests/devices/adbd.py, each with mksh and toybox as Android has them."""
    running: list[subprocess.Popen[str]] = []

    def start(*features: str, port: int = 0) -> Android:
        android = start_android(tmp_path_factory.mktemp("adbd"), port, *features)
        running.append(android.process)
        return android

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def adb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a separate adb server, which leaves the user's alone."""
    adb = require("adb", "adb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = str(tmp_path_factory.mktemp("adb"))  # where adb keeps its key
    own = {"ANDROID_ADB_SERVER_PORT": str(port), "HOME": home, "ANDROID_SERIAL": ""}
    own["ADB_LOCAL_TRANSPORT_MAX_PORT"] = "0"  # no emulator of the user either
    yield own
    subprocess.run([adb, "kill-server"], env=os.environ | own, check=False)


@pytest.fixture
def adb(adb_server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Connects every adb of the test to the separate server."""
    for name, value in adb_server.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def shared_adbd(start_adbd: Callable[..., Android]) -> Android:
    """The adbd of all tests that do not change it."""
    return start_adbd()


@pytest.fixture
def android(adb: None, shared_adbd: Android) -> Android:
    """The shared adbd, with the separate adb server."""
    return shared_adbd


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty configuration folder in place of the user's own."""
    folder = tmp_path / "config"
    monkeypatch.setenv("TRIMTAB_CONFIG_DIR", str(folder))
    return folder


@pytest.fixture(scope="session")
def board_image() -> Path:
    """The board's image from the checkout's cache, built if it is missing."""
    require("qemu-system-aarch64", "qemu-system-arm")
    require("dpkg-deb", "dpkg")
    return board.prepare("aarch64")


@pytest.fixture(scope="session")
def board_cache(board_image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache with a separate running board, which leaves the user's alone."""
    cache = tmp_path_factory.mktemp("board")
    folder = cache / "board" / "aarch64"
    folder.mkdir(parents=True)
    shutil.copytree(board_image, folder / board_image.name, copy_function=os.symlink)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIMTAB_CACHE_DIR", str(cache))
        board.up("aarch64")
    yield cache
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIMTAB_CACHE_DIR", str(cache))
        board.down("aarch64")


@dataclass(frozen=True)
class Subject:
    """A connected device and the probe that runs on it."""

    device: Device
    probe: Path


# Each test would start labgrid's client three times; test_labgrid covers its additions to `ssh`.
_EACH = [pytest.param(t, marks=pytest.mark.slow if t == "labgrid" else ()) for t in TRANSPORTS]


@pytest.fixture(params=_EACH)
def subject(
    request: pytest.FixtureRequest,
    probe: Callable[[str], Path],
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Subject]:
    """Every transport in turn, connected."""
    kind = request.param
    program = probe("aarch64-linux-musl" if kind in {"qemu_user", "board"} else "host")
    if kind == "qemu_user":
        require("qemu-aarch64", "qemu-user")
    elif kind.startswith("ssh"):
        client = kind.partition("-")[2] or "paramiko"
        request.getfixturevalue("sshd").define(config, "loopback", client=client)
    elif kind == "labgrid":
        request.getfixturevalue("farm").define(config, "place")
    elif kind == "adb":
        request.getfixturevalue("android").define(config, "phone")
    elif kind == "board":
        monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(request.getfixturevalue("board_cache")))
    names = {"qemu_user": "qemu-a53", "labgrid": "place", "adb": "phone"}
    names |= dict.fromkeys(("ssh", "ssh-openssh"), "loopback")
    name = names.get(kind, kind)
    with find_device(name).open(trust_new=True) as device:
        yield Subject(device, program)
