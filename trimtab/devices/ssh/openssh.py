"""Transport `ssh`: a board with an SSH server, through OpenSSH's client.

    transport = "ssh"
    toolchain = "aarch64-linux-musl"
    cpu = "cortex-a72"
    host = "pi4.local"              # or a Host of ~/.ssh/config, which then says the rest
    user = "pi"                     # these three: what ~/.ssh/config says, or else ssh's defaults
    port = 22
    key = "~/.ssh/id_ed25519"
    config = "lab/ssh_config"       # in place of ~/.ssh/config
    directory = ".cache/trimtab"    # relative to the home directory there
    compress = true                 # pack large files on their way, if it has `zstd` or `gzip`

Authentication is by key only: there is no password that could end up in a command line. One
connection carries all commands (`ControlMaster`); it asks for a sign of life while nothing else
moves, so that a frozen one ends.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO

from trimtab.devices.registry import DeviceDefinition
from trimtab.devices.remote import ClientDevice, missing_client
from trimtab.devices.ssh import host_keys
from trimtab.errors import DeviceError, DeviceRefusedError, DeviceUnreachableError
from trimtab.toml_table import Minimum

PROGRAMS = {"ssh": "openssh-client"}  # that this transport starts, and the packages with them

_CONNECT_S = 10
_PROXY_S = 30  # what a chain of hosts, or a program, may take until the device itself is asked
_ALIVE_S = 5  # a question after each so many silent seconds; three without an answer are the end
_CLOSE_S = 2.0
_BEGIN_S = 5.0  # for the first session, which takes two round trips
_BEGUN = "trimtab-has-begun"
_CUT = 255  # ssh's return code for what goes wrong with the connection itself

# The user's own configuration says how the device is reached. These say what the connection is for:
# no terminal, no question to anybody, nothing forwarded, nothing left behind.
_OPTIONS: dict[str, object] = {
    "BatchMode": "yes",
    "ClearAllForwardings": "yes",
    "ConnectTimeout": _CONNECT_S,
    "ControlMaster": "yes",
    "ControlPersist": "no",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "HashKnownHosts": "no",
    "LogLevel": "DEBUG1",  # which alone tells the fingerprint of an unknown key
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "RequestTTY": "no",
    "ServerAliveCountMax": 3,
    "ServerAliveInterval": _ALIVE_S,
    "UpdateHostKeys": "no",
}
# The same, from OpenSSH 8.7 on: an older one knows none of them, and refuses the words.
_NEWER_OPTIONS = {"ForkAfterAuthentication": "no", "SessionType": "default", "StdinNull": "no"}
_LONGEST_FOLDER = 60  # for temporary files: the name of a socket has at most 107 characters


@dataclass(frozen=True)
class SshOptions:
    """The transport's keys in a device's file."""

    host: str
    port: Annotated[int, Minimum(1)] | None = None
    user: str = ""
    key: str = ""
    config: str = ""
    directory: str = ".cache/trimtab"
    compress: bool = True


@dataclass(frozen=True)
class Address:
    """Where an SSH server is and who we are there; None is what `config` says, or ssh itself.

    `config`: None for the user's own; `known_hosts`: where keys are pinned, besides those that the
    user's own known_hosts has.
    """

    host: str
    known_hosts: Path
    port: int | None = None
    user: str | None = None
    key: Path | None = None
    config: Path | None = None
    jump: str | None = None  # the hosts on the way (ProxyJump)

    def words(self) -> list[str]:
        """As options of `ssh`."""
        words = [] if self.config is None else ["-F", str(self.config)]
        words += [] if self.port is None else [f"-oPort={self.port}"]
        words += [] if self.user is None else [f"-oUser={self.user}"]
        words += [] if self.jump is None else [f"-oProxyJump={self.jump}"]
        return words + ([] if self.key is None else ["-oIdentitiesOnly=yes", f"-i{self.key}"])


class SshDevice(ClientDevice):
    """One SSH connection; every command is a session of its own in it."""

    def __init__(
        self,
        name: str,
        directory: str,
        address: Address,
        *,
        trust_new: bool = False,
        is_emulated: bool = False,
        packs: bool = False,
    ) -> None:
        """Nothing is connected yet; `trust_new` pins a host key that was never seen."""
        super().__init__(name, directory, is_emulated=is_emulated, packs=packs)
        self._address = address
        self._trust_new = trust_new
        self._folder: Path | None = None  # of the control socket and the log, of one connection
        self._master: subprocess.Popen[bytes] | None = None

    def _connect(self) -> None:
        address = self._address
        if shutil.which("ssh") is None:
            raise missing_client("ssh", PROGRAMS["ssh"], self.name)
        for what, file in (("key", address.key), ("config", address.config)):
            if file is not None and not file.exists():
                raise DeviceError(
                    f"the {what} {file} does not exist",
                    where=self.name,
                    hint=f"correct `{what}` in the device's definition",
                )
        settings = self._settings()
        newer = {key: value for key, value in _NEWER_OPTIONS.items() if key.lower() in settings}
        words = ["ssh", *address.words(), *self._trust(settings)]
        words += [f"-o{key}={value}" for key, value in (_OPTIONS | newer).items()]
        is_short = len(tempfile.gettempdir()) <= _LONGEST_FOLDER
        self._folder = Path(
            tempfile.mkdtemp(prefix="trimtab-ssh-", dir=None if is_short else "/tmp")
        )
        words += [f"-oControlPath={self._folder}/s", "--", address.host]
        try:
            with (self._folder / "log").open("wb") as log, self._begun.open("wb") as begun:
                script = f"echo {_BEGUN}; exec cat >/dev/null"
                self._await(self._start([*words, script], begun, log))
        except BaseException:
            self._disconnect()
            raise

    @property
    def _begun(self) -> Path:
        assert self._folder
        return self._folder / "begun"

    def _start(
        self, words: Sequence[str], begun: BinaryIO, log: BinaryIO
    ) -> subprocess.Popen[bytes]:
        """The process that holds the connection: it ends when its stdin does, as when we die."""
        self._master = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=begun,
            stderr=log,
            env=_environment(),
            start_new_session=True,
        )
        return self._master

    def _await(self, master: subprocess.Popen[bytes]) -> None:
        """Waits until the control socket is there and the process' own session has begun: some
        servers (dropbear) mix up two that begin at the same moment. One that forces a command of
        its own never says so.
        """
        assert self._folder
        deadline = time.monotonic() + _CONNECT_S + _PROXY_S
        begins_by = 0.0
        while True:
            if (self._folder / "s").exists():
                begins_by = begins_by or time.monotonic() + _BEGIN_S
                if _BEGUN.encode() in self._begun.read_bytes() or time.monotonic() > begins_by:
                    return
            if master.poll() is not None:
                raise self._refusal()
            if time.monotonic() > deadline:
                raise DeviceUnreachableError(
                    f"no connection within {_CONNECT_S + _PROXY_S} s", where=self._where
                )
            time.sleep(0.01)

    def _disconnect(self) -> None:
        if self._master is not None:
            assert self._master.stdin
            with contextlib.suppress(OSError):
                self._master.stdin.close()
            self._master.terminate()
            try:
                self._master.wait(_CLOSE_S)
            except subprocess.TimeoutExpired:
                self._master.kill()
                self._master.wait()
            self._master = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _client(self, script: str) -> Sequence[str]:
        if self._folder is None:
            raise DeviceUnreachableError("not connected", where=self.name)
        # Where the connection is gone, ssh would make another, by another configuration.
        words = ["-oControlMaster=no", "-oProxyCommand=false", "-oLogLevel=ERROR"]
        words += ["-T", "-F", "none", f"-oControlPath={self._folder}/s"]
        return ["ssh", *words, "--", self._address.host, script]

    def _lost(self, said: str) -> DeviceError:
        assert self._master
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._master.wait(_CLOSE_S)  # it takes the sessions along
        if self._master.returncode != _CUT:
            return self._turned_away(said)
        last = self._log()[1].rpartition("; ")[2]
        return DeviceUnreachableError(
            f"the connection was lost while a command was running: {last or said}",
            where=self._where,
            hint="is it switched on, and is its network up?",
        )

    def _turned_away(self, said: str) -> DeviceError:
        # Where commands went well before, what ends one now, as a shutdown does, or who ends all
        # that use too much, may be over when it is done once more.
        kind = DeviceUnreachableError if self._is_settled else DeviceRefusedError
        return kind(
            f"it lets us in, but the command was ended or not begun: {said}",
            where=self._where,
            hint="its SSH server may force another command, or end those that use too much",
        )

    @property
    def _where(self) -> str:
        return f"{self.name} ({self._address.host})"

    def _trust(self, settings: dict[str, str]) -> list[str]:
        """Options that say which host keys are good: those that are pinned for this device, and
        those that the user's ssh knows already.
        """
        address = self._address
        ours = str(address.known_hosts).replace("%", "%%")
        trusted = f'-oUserKnownHostsFile="{ours}" {settings["userknownhostsfile"]}'
        name = settings.get("hostkeyalias") or settings["hostname"]
        if settings["port"] != "22" and "hostkeyalias" not in settings:
            name = f"[{name}]:{settings['port']}"
        # `accept-new` alone would let a stranger in who offers a key of another type.
        new = self._trust_new and not host_keys.is_pinned(address.known_hosts, name)
        if new:
            address.known_hosts.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return [trusted, f"-oStrictHostKeyChecking={'accept-new' if new else 'yes'}"]

    def _settings(self) -> dict[str, str]:
        """What ssh makes of the configuration for this host, by lower-case names."""
        # With a command, of which it wants one and no more when the configuration says to fork.
        words = ["ssh", "-G", "-oRemoteCommand=none", *self._address.words()]
        words += ["--", self._address.host, "true"]
        result = subprocess.run(
            words, capture_output=True, text=True, env=_environment(), check=False
        )
        if result.returncode != 0:
            raise DeviceError(
                f"ssh refuses the configuration: {result.stderr.strip()[-400:]}",
                where=self._where,
                hint="correct `host`, `port` and `user` in the device's definition, or the file "
                "that the message names",
            )
        pairs = (line.partition(" ") for line in result.stdout.splitlines())
        return {key: value for key, _, value in pairs}

    def _log(self) -> tuple[str, str]:
        """All that the connection's process wrote, and the end of what is not for debugging."""
        try:
            assert self._folder
            log = (self._folder / "log").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "", ""
        lines = [line for line in log.splitlines() if line and not line.startswith("debug1: ")]
        return log, "; ".join(lines)[-400:]

    def _refusal(self) -> DeviceError:
        """Why there is no connection."""
        log, said = self._log()
        assert self._master
        if self._master.returncode != _CUT:
            return self._turned_away(self._begun.read_text(errors="replace").strip()[-400:])
        if refusal := host_keys.refusal(self._where, log):
            return refusal
        if re.search("Permission denied|Too many authentication failures", said):
            return DeviceRefusedError(
                f"authentication failed: {said}",
                where=self._where,
                hint="`ssh` alone must get in without a password: put your public key there with "
                "ssh-copy-id, and set `user` and `key` in the device's definition (a key with a "
                "passphrase must be in ssh-agent)",
            )
        if "Unable to negotiate" in said:
            return DeviceRefusedError(
                f"no common algorithm with the SSH server: {said}",
                where=self._where,
                hint="update the SSH server on the device, or allow the algorithm in ~/.ssh/config",
            )
        return DeviceUnreachableError(
            f"no connection: {said or 'ssh ended without a word'}",
            where=self._where,
            hint="is it switched on, in this network, and is its SSH server running? Does `host` "
            "in the device's definition name it?",
        )


def _environment() -> dict[str, str]:
    """Ours, so that no window asks for a password that BatchMode keeps the terminal from."""
    return os.environ | {"SSH_ASKPASS_REQUIRE": "never"}


def own_config() -> Path | None:
    """The user's configuration where ssh would not look: it goes by the password database, and
    all else here by `HOME`.
    """
    config = Path.home() / ".ssh" / "config"
    with contextlib.suppress(KeyError):
        if Path(pwd.getpwuid(os.getuid()).pw_dir) != Path.home() and config.is_file():
            return config
    return None


def create(definition: DeviceDefinition, *, trust_new: bool) -> SshDevice:
    """Makes the device of a definition with this transport."""
    options = definition.read_options(SshOptions)
    address = Address(
        host=options.host,
        known_hosts=host_keys.known_hosts_file(definition.name),
        port=options.port,
        user=options.user or None,
        key=definition.local_path(options.key),
        config=definition.local_path(options.config) or own_config(),
    )
    return SshDevice(
        definition.name, options.directory, address, trust_new=trust_new, packs=options.compress
    )
