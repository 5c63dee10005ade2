"""Public-key authentication with paramiko: which keys are offered to a server, in which order.

The order is OpenSSH's: keys of the agent that the configuration names, the agent's other keys
(unless `IdentitiesOnly`), then private key files. A key is offered with its certificate first.
"""

from __future__ import annotations

import base64
import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paramiko
from paramiko.pkey import PublicBlob, UnknownKeyType

from trimtab.devices.process import remaining_s
from trimtab.devices.ssh import client
from trimtab.devices.ssh.settings import HostSettings

_CERTIFICATE = "-cert-v01@openssh.com"
_BLOB_HEADER = 4  # bytes of a length in the SSH wire format


@dataclass
class Attempts:
    """The outcome of offering keys: how many were refused, and which could not be used."""

    offered: int = 0
    locked: list[Path] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)


class AgentIdentity(paramiko.AgentKey):
    """A key of the agent, which may refuse to sign.

    paramiko signs in the thread of the connection, where an exception would end the connection. An
    empty signature instead makes the server refuse this key alone.
    """

    def sign_ssh_data(self, data: Any, algorithm: str | None = None) -> paramiko.Message:
        """The agent's signature, empty if it refuses."""
        try:
            return super().sign_ssh_data(data, algorithm)
        except paramiko.SSHException:
            return paramiko.Message()


class AgentConnection:
    """The agent of a configuration and its keys; use it in a `with`."""

    def __init__(self, socket_path: str) -> None:
        self.keys: list[paramiko.PKey] = []
        self._agent: paramiko.Agent | None = None
        if not socket_path:
            return
        # paramiko takes the agent's socket from the environment alone.
        with (
            _variable("SSH_AUTH_SOCK", socket_path),
            contextlib.suppress(paramiko.SSHException, OSError),
        ):
            self._agent = paramiko.Agent()
            self.keys = [self._identity(key) for key in self._agent.get_keys()]

    def __enter__(self) -> AgentConnection:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._agent is not None:
            self._agent.close()

    @property
    def security_keys(self) -> list[str]:
        """The types of the agent's keys that live on a security key."""
        return [key.get_name() for key in self.keys if key.get_name().startswith("sk-")]

    @staticmethod
    def _identity(key: paramiko.AgentKey) -> paramiko.PKey:
        identity = AgentIdentity(key.agent, key.blob, key.comment)
        if identity.get_name().endswith(_CERTIFICATE):
            blob = PublicBlob(identity.get_name(), key.blob)
            identity.public_blob = blob  # type: ignore[assignment]
        return identity


def authenticate(
    transport: paramiko.Transport, settings: HostSettings, deadline: float, where: str
) -> None:
    """Logs in. Raises `DeviceRefusedError` with the reason, TimeoutError at `deadline`."""
    attempts = Attempts()
    with AgentConnection(settings.agent_socket) as agent:
        for key in _candidates(settings, agent, attempts):
            answered = threading.Event()
            attempts.offered += 1
            try:
                transport.auth_publickey(settings.user, key, answered)
            except paramiko.SSHException as error:
                reason = f"the server closed the connection ({error})"
                raise client.refused(where, reason) from error
            if not answered.wait(remaining_s(deadline)):
                raise TimeoutError
            if transport.is_authenticated():
                return
            failure = transport.get_exception()
            methods = getattr(failure, "allowed_types", None)
            if methods is not None and "publickey" not in methods:
                raise client.wants_a_person(where, methods, isinstance(failure, _PARTIAL))
            if not transport.is_active():
                reason = f" ({failure})" if str(failure or "") else ""
                count = f"{attempts.offered} keys were offered"
                raise client.refused(where, f"the server closed the connection{reason}; {count}")
    raise client.refused(where, _explanation(attempts))


_PARTIAL = paramiko.ssh_exception.PartialAuthentication


def is_security_key(file: Path) -> bool:
    """Whether a private key file is the handle of a security key (`sk-*`)."""
    with contextlib.suppress(OSError, ValueError):
        public = file.with_name(f"{file.name}.pub")
        if public.is_file():
            return public.read_text(errors="replace").startswith("sk-")
        lines = file.read_text(errors="replace").splitlines()
        body = "".join(line for line in lines if not line.startswith("-----"))
        return b"sk-ssh-ed25519@" in (blob := base64.b64decode(body)) or b"sk-ecdsa-" in blob
    return False


def _candidates(
    settings: HostSettings, agent: AgentConnection, attempts: Attempts
) -> Iterator[paramiko.PKey]:
    """The keys to offer, each once."""
    files = {file: _public_key(file) for file in settings.identity_files}
    named = set(files.values()) - {None}
    certificates = [*map(_certificate, settings.certificate_files)]
    certificates += [_certificate(file.with_name(f"{file.name}-cert.pub")) for file in files]
    offered: set[object] = set()
    others = [] if settings.is_on("identitiesonly") else agent.keys
    for key in [*(key for key in agent.keys if key.asbytes() in named), *others]:
        if id(key) not in offered:
            offered.update((id(key), key.asbytes()))
            yield from _with_certificates(key, certificates)
    for file, public in files.items():
        if public in offered or not file.is_file():
            continue
        if (private := _private_key(file, attempts)) and private.asbytes() not in offered:
            offered.add(private.asbytes())
            yield from _with_certificates(private, certificates)


def _with_certificates(
    key: paramiko.PKey, certificates: list[PublicBlob | None]
) -> Iterator[paramiko.PKey]:
    """`key` with each certificate that is its own, then alone."""
    if key.public_blob is None:
        for certificate in certificates:
            if certificate and _certifies(certificate, key):
                key.public_blob = certificate
                yield key
                key.public_blob = None
    yield key


def _certifies(certificate: PublicBlob, key: paramiko.PKey) -> bool:
    """Whether a certificate holds the key: after type and nonce come the fields of the key."""
    name = key.get_name()
    if not certificate.key_type.startswith(name):
        return False
    blob = certificate.key_blob
    position = _BLOB_HEADER + len(certificate.key_type)
    nonce = int.from_bytes(blob[position : position + _BLOB_HEADER], "big")
    fields = key.asbytes()[_BLOB_HEADER + len(name) :]
    return bytes(blob[position + _BLOB_HEADER + nonce :]).startswith(fields)


def _certificate(file: Path) -> PublicBlob | None:
    try:
        return PublicBlob.from_file(str(file))
    except (OSError, ValueError):
        return None


def _public_key(file: Path) -> bytes | None:
    """The public key beside a private one, or in a `.pub` file that is named itself."""
    for name in (file.name, f"{file.name}.pub"):
        with contextlib.suppress(OSError, ValueError, UnicodeDecodeError):
            blob = PublicBlob.from_file(str(file.with_name(name)))
            return bytes(blob.key_blob)
    return None


def _private_key(file: Path, attempts: Attempts) -> paramiko.PKey | None:
    try:
        key = paramiko.PKey.from_path(file)
        key.public_blob = None  # certificates are paired with keys here
        return key
    except (paramiko.PasswordRequiredException, TypeError):  # TypeError: of `cryptography`
        attempts.locked.append(file)
    except (paramiko.SSHException, UnknownKeyType, ValueError, OSError) as error:
        attempts.unusable.append(f"{file}: {error}")
    except Exception as error:  # arbitrary bytes may cause any error in the parsers
        attempts.unusable.append(f"{file}: {type(error).__name__}")
    return None


def _explanation(attempts: Attempts) -> str:
    parts = [f"the server accepts none of {attempts.offered} keys"]
    if not attempts.offered:
        parts = ["there is no key to offer"]
    parts += [f"the key {file} has a passphrase" for file in attempts.locked]
    parts += [f"the key {text[:200]} cannot be read" for text in attempts.unusable]
    return "; ".join(parts)


@contextlib.contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    """A variable of this process's environment for the duration of a `with`."""
    before = os.environ.get(name)
    if before != value:
        os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        elif before != value:
            os.environ[name] = before
