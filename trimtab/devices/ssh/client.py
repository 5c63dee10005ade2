"""The protocol of an SSH client, and what its two implementations share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from trimtab.devices import requirements
from trimtab.devices.process import Sink, Source
from trimtab.devices.remote import RunningCommand
from trimtab.devices.ssh.settings import HostSettings
from trimtab.errors import DeviceError, DeviceRefusedError, DeviceUnreachableError

CONNECT_S = 10  # for TCP and the handshake with one host, if the configuration sets no limit
ROUTE_S = 30  # for jump hosts, or a proxy program, in addition
ALIVE_S = 5  # silence after which the server is asked for a sign of life
ALIVE_COUNT = 3  # unanswered questions after which the link counts as frozen
CLOSE_S = 2.0

# Words for a machine that answers at a port where no SSH server listens.
_NO_SERVER = (
    "refused|banner|invalid format|protocol identifier|closed by remote|closed the connection"
)


class SshClient(Protocol):
    """One connection to an SSH server; each command is a session of its own in it."""

    def connect(self) -> None:
        """Connects and authenticates. Raises the `DeviceError` that says why it cannot."""

    def disconnect(self) -> None:
        """Closes the connection. Harmless if there is none."""

    def start(
        self, script: str, stdout: Sink, stderr: Sink, stdin: Source | None
    ) -> RunningCommand:
        """Starts a script in the login shell of the server."""

    def failure(self) -> str | None:
        """Why the connection broke, None if it still stands."""


def unreachable(where: str, host: HostSettings, what: str, *, is_jump: bool) -> DeviceError:
    """The error of a host that does not answer, or not as an SSH server.

    `what` contains the reason in the words of the system or of the client. `is_jump`: it is a jump
    host, or the network behind one.
    """
    if is_jump:
        hint = f"`ssh {host.host}` must work: the SSH configuration names this host as a ProxyJump"
    elif re.search(_NO_SERVER, what, re.I):
        hint = (
            f"the machine answers, but not as an SSH server at port {host.port}: is its SSH server "
            "running, and does `port` in the device's definition, or in the SSH configuration, "
            "name it? After refused logins, OpenSSH 9.8 and later answers again in a minute"
        )
    else:
        hint = (
            "is it switched on, in this network, and is its SSH server running? Do `host` and "
            "`port` in the device's definition name it?"
        )
    return DeviceUnreachableError(what, where=where, hint=hint)


def runs_another_command(where: str, output: str) -> DeviceError:
    """The error of a login that succeeds and does not run the command that trimtab sent."""
    if program := requirements.lacking_shell(output):
        return requirements.lacking([program], where)
    return DeviceRefusedError(
        "the login succeeds, but the server runs another command in place of trimtab's: "
        f"{output.strip()[-300:] or 'it prints nothing'}",
        where=where,
        hint="remove `ForceCommand` from its sshd_config or `command=` from the key's line in "
        "authorized_keys, and give the user a login shell that runs commands (`chsh`)",
    )


def refused(where: str, reason: str) -> DeviceRefusedError:
    """The error of a server that accepts no key."""
    return DeviceRefusedError(
        f"authentication failed: {reason}",
        where=where,
        hint="`ssh` alone must get in without a password: put your public key there with "
        "ssh-copy-id, and set `user` and `key` in the device's definition (a key with a "
        "passphrase must be in ssh-agent)",
    )


def wants_a_person(where: str, methods: Sequence[str], accepts_key: bool) -> DeviceRefusedError:
    """The error of a server that asks for a method which needs a person, such as a password.

    `accepts_key`: it asks in addition to a key.
    """
    wants = ", ".join(methods) or "a method that trimtab does not have"
    first = "the server accepts the key and then asks for" if accepts_key else "it asks for"
    return DeviceRefusedError(
        f"authentication failed: {first} {wants}, which only a person can answer",
        where=where,
        hint="let this login in by a public key alone (AuthenticationMethods publickey in the "
        "server's sshd_config)",
    )
