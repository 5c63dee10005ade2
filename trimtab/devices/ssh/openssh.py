"""The SSH client of the machine: `ssh`, one process per connection and one per command.

The first process holds the connection (`ControlMaster`). Each command is another process, which
opens a session in that connection.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from trimtab.devices.process import ChildProcess, Sink, Source
from trimtab.devices.ssh import client, host_keys
from trimtab.devices.ssh.address import Address
from trimtab.devices.ssh.settings import HostSettings, environment
from trimtab.errors import DeviceError, DeviceRefusedError, DeviceUnreachableError

_BEGIN_S = 5.0  # for the first session, which takes two round trips
_BEGUN = "trimtab-has-begun"
_CUT = 255  # exit code of `ssh` for a failure of the connection itself
_POLL_S = 0.01

# The user's configuration says how the device is reached. These options keep the connection to its
# purpose: no terminal, no questions, nothing forwarded, nothing left behind.
_OPTIONS: dict[str, object] = {
    "BatchMode": "yes",
    "ClearAllForwardings": "yes",
    "ControlMaster": "yes",
    "ControlPersist": "no",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "HashKnownHosts": "no",
    "LogLevel": "DEBUG1",  # the only level that shows the fingerprint of an unknown key
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "RequestTTY": "no",
    "UpdateHostKeys": "no",
}
# OpenSSH 8.7 and later; an older one refuses unknown options.
_NEWER_OPTIONS = {"ForkAfterAuthentication": "no", "SessionType": "default", "StdinNull": "no"}
# Lines of the log at level DEBUG1 that do not say why a connection failed.
_INFORMATION = re.compile(
    "debug1: |OpenSSH_|Authenticated to |Authenticated using |Transferred: |Bytes per second: "
    "|Warning: Permanently added "
)
_BREAK = re.compile(
    "Timeout, server |Read from remote host |Write failed|Received disconnect |Disconnect(?:ed|ing)"
    "|Bad packet |Corrupted MAC |.*send disconnect: |.*Connection (?:to|closed|reset|timed) "
)
_LONGEST_FOLDER = 60  # for temporary files: the path of a socket has at most 107 characters


class OpenSshClient:
    """One connection of the program `ssh`; implements `SshClient`."""

    def __init__(
        self, route: Sequence[HostSettings], address: Address, where: str, *, trust_new: bool
    ) -> None:
        self._jumps, self._settings = route[:-1], route[-1]
        self._address, self._where = address, where
        self._trust_new = trust_new
        self._folder: Path | None = None  # holds the control socket and the log
        self._master: subprocess.Popen[bytes] | None = None

    def connect(self) -> None:
        """See `SshClient.connect`."""
        values = self._settings.values
        newer = {key: value for key, value in _NEWER_OPTIONS.items() if key.lower() in values}
        limits: dict[str, object] = {
            "ServerAliveCountMax": client.ALIVE_COUNT,
            "ServerAliveInterval": client.ALIVE_S,
        }
        if not self._settings.first("connecttimeout"):
            limits["ConnectTimeout"] = client.CONNECT_S
        words = ["ssh", *self._address.words(), *self._trust()]
        words += [f"-o{key}={value}" for key, value in (_OPTIONS | limits | newer).items()]
        is_short = len(tempfile.gettempdir()) <= _LONGEST_FOLDER
        self._folder = Path(
            tempfile.mkdtemp(prefix="trimtab-ssh-", dir=None if is_short else "/tmp")
        )
        words += [f"-oControlPath={self._folder}/s", "--", self._address.host]
        try:
            with (self._folder / "log").open("wb") as log, self._begun.open("wb") as begun:
                script = f"sh -c 'echo {_BEGUN}; read -r end_of_input'"
                self._await(self._start_master([*words, script], begun, log))
        except BaseException:
            self.disconnect()
            raise

    def disconnect(self) -> None:
        """See `SshClient.disconnect`."""
        if self._master is not None:
            assert self._master.stdin
            with contextlib.suppress(OSError):
                self._master.stdin.close()
            self._master.terminate()
            try:
                self._master.wait(client.CLOSE_S)
            except subprocess.TimeoutExpired:
                self._master.kill()
                self._master.wait()
            self._master = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def start(self, script: str, stdout: Sink, stderr: Sink, stdin: Source | None) -> ChildProcess:
        """See `SshClient.start`."""
        if self._folder is None:
            raise DeviceUnreachableError("not connected", where=self._where)
        # Without its connection, `ssh` would make another one with another configuration.
        words = ["ssh", "-oControlMaster=no", "-oProxyCommand=false", "-oLogLevel=ERROR"]
        words += ["-T", "-F", "none", f"-oControlPath={self._folder}/s"]
        words += ["--", self._address.host, script]
        return ChildProcess(words, stdout, stderr, stdin=stdin)

    def failure(self) -> str | None:
        """See `SshClient.failure`."""
        if self._master is None:
            return "not connected"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._master.wait(client.CLOSE_S)  # its sessions end before it does
        if self._master.returncode != _CUT:
            return None
        reasons = [line for line in self._log()[1] if _BREAK.match(line)]
        return reasons[-1] if reasons else "the server closed the connection"

    @property
    def _begun(self) -> Path:
        assert self._folder
        return self._folder / "begun"

    def _start_master(
        self, words: Sequence[str], begun: BinaryIO, log: BinaryIO
    ) -> subprocess.Popen[bytes]:
        """Starts the process of the connection. It ends when its stdin ends, as when we die."""
        self._master = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=begun,
            stderr=log,
            env=environment(),
            start_new_session=True,
        )
        return self._master

    def _await(self, master: subprocess.Popen[bytes]) -> None:
        """Waits for the control socket, and for the session of the process itself.

        Some servers (dropbear) mix up two sessions that begin at the same moment. A server that
        forces a command of its own never shows the session's first line.
        """
        assert self._folder
        limit_s = client.CONNECT_S + client.ROUTE_S
        deadline = time.monotonic() + limit_s
        begins_by = 0.0
        while True:
            if (self._folder / "s").exists():
                begins_by = begins_by or time.monotonic() + _BEGIN_S
                if _BEGUN.encode() in self._begun.read_bytes() or time.monotonic() > begins_by:
                    return
            if master.poll() is not None:
                raise self._refusal()
            if time.monotonic() > deadline:
                raise DeviceUnreachableError(f"no connection within {limit_s} s", where=self._where)
            time.sleep(_POLL_S)

    def _trust(self) -> list[str]:
        """Options for trusted host keys: the pinned ones, and those that the user's ssh knows."""
        pins = self._address.known_hosts
        assert pins
        escaped = str(pins).replace("%", "%%")
        users = self._settings.first("userknownhostsfile")
        # `accept-new` alone would accept a stranger that offers a key of another type.
        is_new = self._trust_new and not host_keys.is_pinned(pins, self._settings.known_hosts_name)
        if is_new:
            pins.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return [
            f'-oUserKnownHostsFile="{escaped}" {users}',
            f"-oStrictHostKeyChecking={'accept-new' if is_new else 'yes'}",
        ]

    def _log(self) -> tuple[str, list[str]]:
        """The whole log of the connection, and its lines that are no mere information."""
        try:
            assert self._folder
            log = (self._folder / "log").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "", []
        return log, [line for line in log.splitlines() if line and not _INFORMATION.match(line)]

    def _refusal(self) -> DeviceError:
        """The error for a connection that was not made."""
        log, lines = self._log()
        messages = "; ".join(lines)[-400:]
        assert self._master
        if self._master.returncode != _CUT:
            output = self._begun.read_text(errors="replace").replace(_BEGUN, "")
            return client.runs_another_command(self._where, f"{output}\n{messages}")
        if refusal := host_keys.refusal(self._where, log, self._jumps):
            return refusal
        if re.search("Permission denied|Too many authentication failures", messages):
            denied = re.search(r"Permission denied \(([^)]*)\)", messages)
            methods = denied[1].split(",") if denied else ["publickey"]
            if "publickey" not in methods:
                accepts_key = "partial success" in log
                return client.wants_a_person(self._where, methods, accepts_key)
            return client.refused(self._where, messages)
        if "Unable to negotiate" in messages:
            return DeviceRefusedError(
                f"no common algorithm with the SSH server: {messages}",
                where=self._where,
                hint="update the SSH server on the device, or allow the algorithm in ~/.ssh/config",
            )
        jump = next((jump for jump in self._jumps if _is_about(messages, jump)), None)
        name = f"the jump host {jump.host}" if jump else self._settings.hostname
        what = f"no connection to {name}: {messages or 'ssh ended without a message'}"
        host = jump or self._settings
        return client.unreachable(self._where, host, what, is_jump=jump is not None)


def _is_about(messages: str, host: HostSettings) -> bool:
    """Whether `ssh` says that it could not connect to a host."""
    return re.search(rf"\b{re.escape(host.hostname)} port {host.port}\b", messages) is not None
