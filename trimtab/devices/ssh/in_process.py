"""The SSH client in this process: paramiko, one connection through any number of jump hosts."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence

import paramiko
from paramiko.packet import Packetizer

from trimtab.devices.process import Sink, Source, remaining_s
from trimtab.devices.ssh import client, host_keys, keys
from trimtab.devices.ssh.address import Address
from trimtab.devices.ssh.channel import ChannelCommand
from trimtab.devices.ssh.host_keys import KnownKey
from trimtab.devices.ssh.settings import HostSettings
from trimtab.errors import DeviceError, DeviceRefusedError, DeviceUnreachableError

_UNLIMITED_S = 1e9  # paramiko's own limits follow the time of day; trimtab's deadlines do not
_LOOPBACK = ("127.0.0.1", 0)  # the claimed origin of a forwarded connection
_ALIASES = {"curve25519-sha256": "curve25519-sha256@libssh.org"}  # one algorithm, two names
_RSA = ("rsa-sha2-512", "rsa-sha2-256")
# Algorithms in an SSH configuration -> paramiko's attribute with its own list.
ALGORITHMS = {
    "ciphers": "_preferred_ciphers",
    "macs": "_preferred_macs",
    "kexalgorithms": "_preferred_kex",
    "hostkeyalgorithms": "_preferred_keys",
    "pubkeyacceptedalgorithms": "_preferred_pubkeys",
}

# Without a handler of its own, Python would print the library's warnings on stderr.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class _ArrivalTimes(Packetizer):
    """A packetizer that notes when the last packet arrived, on the monotonic clock."""

    last_s = 0.0

    def read_message(self) -> tuple[int, paramiko.Message]:
        """The next packet."""
        packet = super().read_message()
        self.last_s = time.monotonic()
        return packet


class ParamikoClient:
    """One connection over the hosts of a route; implements `SshClient`."""

    def __init__(
        self, route: Sequence[HostSettings], address: Address, where: str, *, trust_new: bool
    ) -> None:
        self._route, self._address, self._where = route, address, where
        self._trust_new = trust_new
        self._transports: list[paramiko.Transport] = []
        self._proxy: _Proxy | None = None
        self._closing = threading.Event()
        self._broken = ""  # why the connection was given up

    def connect(self) -> None:
        """See `SshClient.connect`."""
        try:
            for settings in self._route:
                self._add(settings)
        except BaseException:
            self.disconnect()
            raise
        threading.Thread(target=self._watch, args=(self._transports[-1],), daemon=True).start()

    def disconnect(self) -> None:
        """See `SshClient.disconnect`."""
        self._closing.set()
        self._close_transports()
        self._transports = []
        if self._proxy is not None:
            self._proxy.close()
            self._proxy = None

    def start(
        self, script: str, stdout: Sink, stderr: Sink, stdin: Source | None
    ) -> ChannelCommand:
        """See `SshClient.start`."""
        if not self._transports:
            raise DeviceUnreachableError("not connected", where=self._where)
        environment = self._route[-1].environment
        return ChannelCommand(self._transports[-1], script, environment, stdout, stderr, stdin)

    def failure(self) -> str | None:
        """See `SshClient.failure`."""
        if not self._transports:
            return "not connected"
        transport = self._transports[-1]
        deadline = time.monotonic() + client.CLOSE_S
        while transport.is_active() and time.monotonic() < deadline:
            time.sleep(0.02)
        if transport.is_active():
            return None
        error = transport.get_exception()
        return self._broken or _reason(error) or "the server closed the connection"

    def _add(self, settings: HostSettings) -> None:
        """Connects to one host, from this machine or from the last host of the route."""
        is_device = settings is self._route[-1]
        limit_s = float(settings.first("connecttimeout") or 0) or client.CONNECT_S
        deadline = time.monotonic() + limit_s
        pins = [self._address.known_hosts] if is_device and self._address.known_hosts else []
        files = [*pins, *settings.known_hosts_files]
        lines = host_keys.find(files, settings.known_hosts_name)
        try:
            transport = _transport(self._socket(settings, limit_s), settings, lines)
            self._transports.append(transport)
            self._shake_hands(transport, deadline)
            self._verify(transport, settings, lines, is_device)
            deadline = time.monotonic() + limit_s
            keys.authenticate(transport, settings, deadline, self._where)
        except TimeoutError:
            raise self._unreachable(
                settings, f"no answer within {limit_s:g} s, connection timed out"
            ) from None
        except paramiko.ssh_exception.IncompatiblePeer as error:
            raise DeviceRefusedError(
                f"no common algorithm with the SSH server: {error}",
                where=self._where,
                hint="update the SSH server on the device, or allow the algorithm in ~/.ssh/config",
            ) from error
        except (OSError, EOFError, UnicodeError, paramiko.SSHException) as error:
            raise self._unreachable(settings, _reason(error)) from error

    def _socket(self, settings: HostSettings, limit_s: float) -> socket.socket | paramiko.Channel:
        if self._transports:
            return _bounded(
                lambda: self._transports[-1].open_channel(
                    "direct-tcpip",
                    (settings.hostname, settings.port),
                    _LOOPBACK,
                    timeout=_UNLIMITED_S,
                ),
                limit_s,
            )
        if settings.proxy_command:
            self._proxy = _Proxy(settings.proxy_command)
            return self._proxy.socket
        return _dial(settings, limit_s)

    def _shake_hands(self, transport: paramiko.Transport, deadline: float) -> None:
        agreed = threading.Event()
        transport.start_client(event=agreed)
        if not agreed.wait(remaining_s(deadline)):
            raise TimeoutError
        if not transport.is_active():
            raise transport.get_exception() or EOFError

    def _verify(
        self,
        transport: paramiko.Transport,
        settings: HostSettings,
        lines: Sequence[KnownKey],
        is_device: bool,
    ) -> None:
        """Refuses a host key that is not known, or pins it with `trust_new`."""
        key = transport.get_remote_server_key()
        blob, name = key.asbytes(), settings.known_hosts_name
        where = self._where if is_device else f"{self._where} (jump host {settings.host})"
        if host_keys.judge(lines, key.get_name(), blob, where):
            return
        if not is_device:
            fingerprint = host_keys.fingerprint(blob)
            raise host_keys.unknown_jump_host(self._where, settings.host, name, fingerprint)
        pins = self._address.known_hosts
        if not self._trust_new or pins is None or host_keys.is_pinned(pins, name):
            raise host_keys.unknown(self._where, name, host_keys.fingerprint(blob))
        host_keys.pin(pins, name, f"{key.get_name()} {key.get_base64()}")

    def _watch(self, transport: paramiko.Transport) -> None:
        """Gives up a link that stays silent."""
        if silent_s := wait_until_silent(transport, self._closing):
            host = self._route[-1].hostname
            self._broken = f"timeout, server {host} not responding for {silent_s:.0f} s"
            self._close_transports()

    def _close_transports(self) -> None:
        """Closes the TCP connection first: a frozen one would block the close of those inside."""
        for transport in self._transports:
            transport.close()

    def _unreachable(self, settings: HostSettings, reason: str) -> DeviceError:
        complaint = self._proxy.complaint() if self._proxy else ""
        is_jump = settings is not self._route[-1]
        name = f"the jump host {settings.host}" if is_jump else settings.hostname
        what = f"no connection to {name}: {complaint or reason}"
        return client.unreachable(self._where, settings, what, is_jump=is_jump)


class _Proxy:
    """The program of a ProxyCommand, whose stdin and stdout are one end of `socket`."""

    def __init__(self, command: str) -> None:
        self.socket, theirs = socket.socketpair()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (close() closes it)
        shell = os.environ.get("SHELL") or "/bin/sh"
        with theirs:
            self._process = subprocess.Popen(
                [shell, "-c", f"exec {command}"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._log.fileno(),
                start_new_session=True,
            )

    def complaint(self) -> str:
        """The end of what the program has written on stderr."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(client.CLOSE_S)
        self._log.seek(0)
        return self._log.read().decode(errors="replace").strip()[-400:]

    def close(self) -> None:
        """Ends the program."""
        self.socket.close()
        self._process.terminate()
        try:
            self._process.wait(client.CLOSE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def common_algorithms(settings: HostSettings, keyword: str) -> list[str]:
    """The algorithms that both the configuration and paramiko allow, in the former's order."""
    ours: tuple[str, ...] = getattr(paramiko.Transport, ALGORITHMS[keyword])
    allowed = [_ALIASES.get(name, name) for name in settings.algorithms(keyword)] or ours
    return [name for name in dict.fromkeys(allowed) if name in ours]


def _transport(
    link: socket.socket | paramiko.Channel, settings: HostSettings, lines: Sequence[KnownKey]
) -> paramiko.Transport:
    """A transport that is not started, with the algorithms of the configuration."""
    transport = paramiko.Transport(
        link,
        disabled_algorithms={
            "pubkeys": set(paramiko.Transport._preferred_pubkeys)  # type: ignore[attr-defined]
            - set(common_algorithms(settings, "pubkeyacceptedalgorithms"))
        },
        packetizer_class=_ArrivalTimes,
    )
    transport.banner_timeout = transport.auth_timeout = _UNLIMITED_S
    transport.channel_timeout = transport.clear_to_send_timeout = _UNLIMITED_S
    transport.use_compression(settings.is_on("compression"))
    options = transport.get_security_options()
    options.ciphers = common_algorithms(settings, "ciphers")
    options.digests = common_algorithms(settings, "macs")
    options.kex = common_algorithms(settings, "kexalgorithms")
    # The server presents one key. Types with a known key come first, so that it is a known one.
    types = common_algorithms(settings, "hostkeyalgorithms")
    first = [name for key in lines for name in (_RSA if key.type == "ssh-rsa" else (key.type,))]
    options.key_types = [t for t in dict.fromkeys([*first, *types]) if t in types]
    return transport


def _dial(settings: HostSettings, limit_s: float) -> socket.socket:
    """A TCP connection to the first address of the host that answers."""
    families = {"inet": socket.AF_INET, "inet6": socket.AF_INET6}
    family = families.get(settings.first("addressfamily"), socket.AF_UNSPEC)
    source = settings.first("bindaddress")
    last: OSError = OSError("the name has no address")
    addresses = socket.getaddrinfo(settings.hostname, settings.port, family, socket.SOCK_STREAM)
    for *kind, _, target in addresses:
        link = socket.socket(*kind)
        try:
            link.settimeout(limit_s)
            if source:
                link.bind((source, 0))
            link.connect(target)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if settings.is_on("tcpkeepalive"):
                link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            return link
        except OSError as error:
            link.close()
            last = error
    raise last


def _bounded(open_channel: Callable[[], paramiko.Channel], limit_s: float) -> paramiko.Channel:
    """The channel that a thread opens. Raises TimeoutError after `limit_s`."""
    outcome: list[paramiko.Channel | BaseException] = []

    def run() -> None:
        try:
            outcome.append(open_channel())
        except (paramiko.SSHException, OSError, EOFError) as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(limit_s)
    if not outcome:
        raise TimeoutError
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def wait_until_silent(transport: paramiko.Transport, closing: threading.Event) -> float:
    """Asks a silent server for a sign of life. Returns for how many seconds a link has been silent
    when it has to be given up, or 0 when it has ended or is `closing`.
    """
    packets: _ArrivalTimes = transport.packetizer  # type: ignore[assignment]
    interval_s = client.ALIVE_S
    asker: threading.Thread | None = None
    while not closing.wait(interval_s) and transport.is_active():
        silent_s = time.monotonic() - packets.last_s
        if silent_s >= interval_s * (client.ALIVE_COUNT + 1):
            return silent_s
        if silent_s >= interval_s and not (asker and asker.is_alive()):
            asker = threading.Thread(target=ask_whether_alive, args=(transport,), daemon=True)
            asker.start()
    return 0.0


def ask_whether_alive(transport: paramiko.Transport) -> None:
    """Sends a request that every server answers, if only by a refusal."""
    with contextlib.suppress(paramiko.SSHException, OSError, EOFError):
        transport.global_request("keepalive@openssh.com", wait=True)


def _reason(error: BaseException | None) -> str:
    if isinstance(error, paramiko.ChannelException):
        return f"the jump host refuses the connection: {error.text}"
    if isinstance(error, EOFError):
        return "the server closed the connection"
    return "" if error is None else str(error) or type(error).__name__
