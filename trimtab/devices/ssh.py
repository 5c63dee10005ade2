"""Transport `ssh`: a board with an SSH server, through paramiko.

    transport = "ssh"
    toolchain = "aarch64-linux-musl"
    cpu = "cortex-a72"
    host = "pi4.local"
    user = "pi"                     # default: your own name
    port = 22
    key = "~/.ssh/id_ed25519"       # default: what the agent and ~/.ssh offer
    directory = ".cache/trimtab"    # relative to the home directory there
    compress = true                 # pack large files on their way, if it has `zstd` or `gzip`

Authentication is by key only: there is no password that could end up in a command line.
"""

from __future__ import annotations

import contextlib
import getpass
import logging
import re
import secrets
import select
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import paramiko

from trimtab.devices import host_keys, watchdog
from trimtab.devices.definition import Definition, Options
from trimtab.devices.protocol import CommandResult, Transcript
from trimtab.devices.shell import ShellDevice, Source
from trimtab.errors import (
    DeviceError,
    DeviceRefusedError,
    DeviceUnreachableError,
)

_CONNECT_S = 10.0
_KILL_S = 10.0
_CHUNK_BYTES = 32 * 1024
_MAX_SIGNAL = 64

# paramiko logs what it also raises; without a handler Python would print that log to stderr.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

# Descriptor 3 carries the program's stderr past the outer shell, whose remarks on a child that a
# signal ended are not the program's; a subshell, because shells redirect for a plain command
# themselves. `setsid` runs in a child: as a group's leader it would fork and not wait. Without it
# only the process itself is killed.
_WRAPPER = (
    "exec 3>&2 2>/dev/null; s=; command -v setsid >/dev/null && s=setsid; "
    "(exec 2>&3 3>&- {stdin}; exec $s sh -c {script}); exit $?"
)


@dataclass(frozen=True)
class Address:
    """Where an SSH server listens and who we are there; `key` None means agent and ~/.ssh."""

    host: str
    port: int
    user: str
    key: Path | None
    known_hosts: Path

    @property
    def text(self) -> str:
        """For messages."""
        return f"{self.user}@{self.host}:{self.port}"


class SshDevice(ShellDevice):
    """One SSH connection; every command is a channel of its own."""

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
        self._client: paramiko.SSHClient | None = None

    def _connect(self) -> None:
        address = self._address
        if address.key is not None and not address.key.is_file():
            raise DeviceError(
                f"the key {address.key} does not exist",
                where=self.name,
                hint="correct `key` in the device's definition, or make one with ssh-keygen",
            )
        client = paramiko.SSHClient()
        client.set_missing_host_key_policy(
            host_keys.PinningPolicy(self.name, address.known_hosts, trust_new=self._trust_new)
        )
        with self._foreign_errors(), contextlib.ExitStack() as on_failure:
            on_failure.callback(client.close)
            if address.known_hosts.exists():
                client.load_host_keys(str(address.known_hosts))
            try:
                client.connect(
                    address.host,
                    address.port,
                    address.user,
                    key_filename=None if address.key is None else str(address.key),
                    look_for_keys=address.key is None,
                    allow_agent=address.key is None,
                    timeout=_CONNECT_S,
                    banner_timeout=_CONNECT_S,
                    auth_timeout=_CONNECT_S,
                )
            except ValueError as error:  # a host name that is none, a key file that is none
                raise DeviceError(
                    f"cannot connect to {address.text}: {error}",
                    where=self.name,
                    hint="correct `host`, `port` and `key` in the device's definition",
                ) from None
            on_failure.pop_all()
        self._client = client

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _execute(
        self,
        script: str,
        *,
        timeout_s: float,
        stdin: Source | None = None,
        transcript: Transcript | None = None,
    ) -> CommandResult:
        deadline = time.monotonic() + timeout_s
        with self._foreign_errors():
            command = _Command(self._channel(), script, stdin, transcript or Transcript())
            try:
                return command.finish(deadline)
            except BaseException as error:
                is_ended = self._end(command.process_group())
                command.collect()
                if isinstance(error, TimeoutError):
                    raise watchdog.timed_out(self.name, script, timeout_s, is_ended) from None
                raise
            finally:
                command.close()

    def _end(self, process_group: int | None) -> bool:
        """Ends what still runs; True when that was seen. A dead connection has nobody to tell."""
        if process_group is None:
            return False
        script = watchdog.end_script(process_group)
        with contextlib.suppress(DeviceError, paramiko.SSHException, OSError, EOFError):
            command = _Command(self._channel(), script, None, Transcript())
            try:
                return watchdog.is_ended(command.finish(time.monotonic() + _KILL_S))
            finally:
                command.close()
        return False

    def _channel(self) -> paramiko.Channel:
        transport = self._client.get_transport() if self._client else None
        if transport is None:
            raise DeviceUnreachableError("not connected", where=self.name)
        return transport.open_session(timeout=_CONNECT_S)

    @contextlib.contextmanager
    def _foreign_errors(self) -> Iterator[None]:
        """Turns what paramiko and sockets raise into errors of ours."""
        where = f"{self.name} ({self._address.text})"
        try:
            yield
        except paramiko.BadHostKeyException as error:
            raise host_keys.changed(self.name, self._address.known_hosts, error) from error
        except paramiko.AuthenticationException as error:
            raise DeviceRefusedError(
                f"authentication failed: {error}",
                where=where,
                hint="put your public key there with ssh-copy-id, and set `user` and `key` in the "
                "device's definition (a key with a passphrase must be in ssh-agent)",
            ) from error
        except paramiko.ssh_exception.IncompatiblePeer as error:
            raise DeviceRefusedError(
                f"no common algorithm with the SSH server: {error}",
                where=where,
                hint="update the SSH server on the device (SHA-1 is no longer accepted)",
            ) from error
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise DeviceUnreachableError(
                f"no connection: {error or type(error).__name__}",
                where=where,
                hint="is it switched on, in this network, and is its SSH server running?",
            ) from error


class _Command:
    """A running remote command: feeds stdin, collects both outputs, waits for the exit status."""

    def __init__(
        self,
        channel: paramiko.Channel,
        script: str,
        stdin: Source | None,
        transcript: Transcript,
    ) -> None:
        # The first line on stderr tells the process group, so that a watchdog can kill it all; the
        # token tells it from what a login script may print.
        self._token = f"trimtab-{secrets.token_hex(8)}"
        self._channel = channel
        self._stdin = stdin
        self._unsent = b""
        self._transcript, self._stderr = transcript, bytearray()
        inner = shlex.quote(f"echo {self._token} $$ >&2; {script}")
        outer = _WRAPPER.format(script=inner, stdin="" if stdin else "</dev/null")
        channel.exec_command(f"sh -c {shlex.quote(outer)}")

    def process_group(self) -> int | None:
        """Its number on the device; None when the command did not even start."""
        found = re.search(rb"^%s (\d+)$" % self._token.encode(), self._stderr, re.MULTILINE)
        return int(found[1]) if found else None

    def finish(self, deadline: float) -> CommandResult:
        """Waits for the end; raises TimeoutError at `deadline` (of the monotonic clock)."""
        channel = self._channel
        while not self._is_drained():
            self._feed()
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                raise TimeoutError
            # A send window that opens does not wake `select`, so look often while there is input.
            select.select([channel], [], [], min(wait_s, 0.01 if self._stdin else 1.0))
            self.collect()
        # dropbear drops the connection when the next command comes before this status was read.
        if not channel.status_event.wait(max(0.0, deadline - time.monotonic())):
            raise TimeoutError
        status = channel.recv_exit_status()
        if status < 0:
            raise paramiko.SSHException("the connection was lost while a command was running")
        first_line = re.compile(rb"^%s \d+\r?\n" % self._token.encode(), re.MULTILINE)
        stderr = first_line.sub(b"", bytes(self._stderr), count=1)
        signal = status - 128 if 128 < status <= 128 + _MAX_SIGNAL else None
        return CommandResult(status, signal, bytes(self._transcript.stdout), stderr)

    def close(self) -> None:
        """Closes the channel."""
        self._channel.close()

    def _is_drained(self) -> bool:
        ended = bool(self._channel.eof_received) or self._channel.closed
        return ended and not (self._channel.recv_ready() or self._channel.recv_stderr_ready())

    def collect(self) -> None:
        """Takes what has arrived of both outputs."""
        while self._channel.recv_ready():
            self._transcript.wrote(self._channel.recv(_CHUNK_BYTES))
        while self._channel.recv_stderr_ready():
            self._stderr += self._channel.recv_stderr(_CHUNK_BYTES)

    def _feed(self) -> None:
        while self._stdin is not None and self._channel.send_ready():
            self._unsent = self._unsent or self._stdin.read(_CHUNK_BYTES)
            try:
                if not self._unsent:
                    self._channel.shutdown_write()
                    self._stdin = None
                    return
                self._unsent = self._unsent[self._channel.send(self._unsent) :]
            except OSError:  # the command ended without reading all; its status says why
                self._stdin = None


def create(definition: Definition, *, trust_new: bool) -> SshDevice:
    """Makes the device of a definition with this transport."""
    options = Options(definition)
    key = options.text("key", "")
    address = Address(
        host=options.text("host"),
        port=options.integer("port", 22),
        user=options.text("user", getpass.getuser()),
        key=Path(key).expanduser() if key else None,
        known_hosts=host_keys.known_hosts_file(definition.name),
    )
    directory = options.text("directory", ".cache/trimtab")
    packs = options.flag("compress", True)
    options.finish()
    return SshDevice(definition.name, directory, address, trust_new=trust_new, packs=packs)
