"""Pinned SSH host keys: one known-hosts file per device, ours alone."""

from __future__ import annotations

from pathlib import Path

import paramiko

from trimtab import files, paths
from trimtab.errors import DeviceError, HostKeyError


def known_hosts_file(device: str) -> Path:
    """Where the keys of `device` are pinned, in OpenSSH's known_hosts format."""
    return paths.config() / "known_hosts" / device


def pin(file: Path, host: str, key: str) -> None:
    """Adds `key` (`TYPE BASE64`) as that of `host`; the file is replaced as a whole."""
    with files.access(file, error=DeviceError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        before = file.read_text(encoding="utf-8") if file.exists() else ""
    files.write_text(file, f"{before}{host} {key.strip()}\n", error=DeviceError)


class PinningPolicy(paramiko.MissingHostKeyPolicy):
    """Rejects a key that was never seen, or pins it when the user said that it may be trusted."""

    def __init__(self, device: str, file: Path, *, trust_new: bool) -> None:
        """`file` is the known-hosts file of `device`."""
        self._device, self._file, self._trust_new = device, file, trust_new

    def missing_host_key(
        self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey
    ) -> None:
        """Called by paramiko before any authentication."""
        if not self._trust_new:
            raise HostKeyError(
                f"unknown host key {key.get_name()} {key.fingerprint}",
                where=f"{self._device} ({hostname})",
                hint="compare it with the output of `ssh-keygen -lf "
                "/etc/ssh/ssh_host_ed25519_key.pub` on the device, then use --trust-new once",
            )
        pin(self._file, hostname, f"{key.get_name()} {key.get_base64()}")


def changed(device: str, file: Path, error: paramiko.BadHostKeyException) -> HostKeyError:
    """The error for a key that is not the pinned one."""
    return HostKeyError(
        f"the host key changed: pinned {error.expected_key.fingerprint}, "
        f"offered {error.key.fingerprint}; someone may be in between",
        where=f"{device} ({error.hostname})",
        hint=f"if the device was installed anew, remove {file} and use --trust-new once",
    )
