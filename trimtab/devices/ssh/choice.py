"""Chooses the SSH client of a device: paramiko, unless the configuration needs OpenSSH."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab import system
from trimtab.devices.remote import missing_client
from trimtab.devices.ssh import host_keys
from trimtab.devices.ssh.address import Address
from trimtab.devices.ssh.settings import HostSettings
from trimtab.errors import DeviceError

OPENSSH, PARAMIKO = "openssh", "paramiko"
PROGRAMS = {"ssh": "openssh-client"}


@dataclass(frozen=True)
class ClientChoice:
    """The client of a connection, and why it was chosen."""

    client: str
    reason: str

    def __str__(self) -> str:
        return f"{self.client} ({self.reason})"


def choose(
    route: Sequence[HostSettings], address: Address, requested: str, where: str
) -> ClientChoice:
    """The client for a route. `requested`: the client that the device's file names, or "".

    Raises `DeviceError` if the route needs OpenSSH and it is not installed or not requested.
    """
    if requested == OPENSSH:
        choice = ClientChoice(OPENSSH, "as the device's definition says")
    elif need := next(openssh_needs(route, address), ""):
        if requested == PARAMIKO:
            raise DeviceError(
                f"the client paramiko cannot do what the SSH configuration asks for: {need}",
                where=where,
                hint='leave out `client = "paramiko"` in the device\'s definition',
            )
        choice = ClientChoice(OPENSSH, f"paramiko has no {need}")
    else:
        requested_reason = "as the device's definition says" if requested else "the default"
        choice = ClientChoice(PARAMIKO, requested_reason)
    if choice.client == OPENSSH and shutil.which("ssh") is None:
        error = missing_client("ssh", PROGRAMS["ssh"], where)
        error.what += f", and the client openssh is needed: {choice.reason}"
        raise error
    return choice


def openssh_needs(route: Sequence[HostSettings], address: Address) -> Iterator[str]:
    """The features that a route needs and paramiko does not have."""
    from trimtab.devices.ssh.in_process import ALGORITHMS, common_algorithms

    for settings in route:
        yield from _needed_features(settings)
        yield from _needed_key_types(settings)
        pins = [address.known_hosts] if address.known_hosts and settings is route[-1] else []
        files = [*pins, *settings.known_hosts_files]
        for line in host_keys.find(files, settings.known_hosts_name):
            if line.marker == host_keys.CERT_AUTHORITY:
                yield f"host certificates (@cert-authority in {line.place})"
        for keyword in ALGORITHMS:
            if not common_algorithms(settings, keyword):
                yield f"algorithm of the {keyword} that the configuration allows"


def _needed_features(settings: HostSettings) -> Iterator[str]:
    if settings.is_on("gssapiauthentication") and _has_kerberos_ticket():
        yield "GSSAPI (GSSAPIAuthentication, and there is a Kerberos ticket)"
    if settings.is_on("hostbasedauthentication"):
        yield "host-based authentication (HostbasedAuthentication)"
    if settings.is_on("verifyhostkeydns"):
        yield "host keys from DNS (VerifyHostKeyDNS)"
    if settings.is_on("proxyusefdpass"):
        yield "passed descriptors (ProxyUseFdpass)"
    for keyword, feature in (
        ("pkcs11provider", "PKCS#11 tokens (PKCS11Provider)"),
        ("knownhostscommand", "host keys from a program (KnownHostsCommand)"),
        ("revokedhostkeys", "lists of revoked keys (RevokedHostKeys)"),
        ("bindinterface", "choice of an interface (BindInterface)"),
    ):
        if settings.first(keyword):
            yield feature


def _needed_key_types(settings: HostSettings) -> Iterator[str]:
    """Security keys, in files or in the agent."""
    from trimtab.devices.ssh.keys import AgentConnection, is_security_key

    for file in settings.identity_files:
        if is_security_key(file):
            yield f"security keys ({file})"
    if not settings.is_on("identitiesonly"):
        with AgentConnection(settings.agent_socket) as agent:
            for kind in agent.security_keys:
                yield f"security keys ({kind} in the agent)"


def _has_kerberos_ticket() -> bool:
    default = Path(f"/tmp/krb5cc_{system.user_id()}")
    return "KRB5CCNAME" in os.environ or default.exists()
