"""Pinned SSH host keys: one known-hosts file per device, ours alone."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from pathlib import Path

from trimtab import files, paths
from trimtab.errors import DeviceError, HostKeyError


def known_hosts_file(device: str) -> Path:
    """Where the keys of `device` are pinned, in OpenSSH's known_hosts format."""
    return paths.config() / "known_hosts" / device


def pin(file: Path, host: str, key: str) -> None:
    """Adds `key` (`TYPE BASE64`) as that of `host`; the file is replaced as a whole."""
    with files.access(file, error=DeviceError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    before = "".join(f"{line}\n" for line in _lines(file))
    files.write_text(file, f"{before}{host} {key.strip()}\n", error=DeviceError)


def is_pinned(file: Path, host: str) -> bool:
    """Whether any key of `host` (`[NAME]:PORT` but for port 22) is in `file`."""
    return any(host in line.partition(" ")[0].split(",") for line in _lines(file))


def refusal(device: str, log: str) -> HostKeyError | None:
    """The error for a host key that OpenSSH's client refused, by what it wrote at DEBUG1; None when
    that was not it.
    """
    offered = re.search(r"^debug1: Server host key: (\S+ \S+)", log, re.M)
    if "REMOTE HOST IDENTIFICATION HAS CHANGED" in log or "REVOKED HOST KEY" in log:
        known = re.search(r"^Offending \S+ key in (.+):(\d+)", log, re.M)
        file, pinned = (
            (known[1], _fingerprint(Path(known[1]), int(known[2]))) if known else ("", "")
        )
        return HostKeyError(
            f"the host key changed: pinned {pinned or 'another'}, "
            f"offered {offered[1] if offered else 'another'}; someone may be in between",
            where=device,
            hint=f"if the device was installed anew, remove {file or 'its line of known_hosts'} "
            "and use --trust-new once",
        )
    if "Host key verification failed" not in log:
        return None
    unknown = re.search(r"^No \S+ host key is known for (\S+)", log, re.M)
    if unknown and offered:
        return HostKeyError(
            f"unknown host key {offered[1]}",
            where=f"{device} ({unknown[1]})",
            hint="compare it with the output of `ssh-keygen -lf "
            "/etc/ssh/ssh_host_ed25519_key.pub` on the device, then use --trust-new once",
        )
    return HostKeyError(
        "unknown host key of a host on the way (ProxyJump)",
        where=device,
        hint="log in there by `ssh` once: hosts on the way are known by your own known_hosts",
    )


def _fingerprint(file: Path, number: int) -> str:
    """As OpenSSH shows it, of the key in a line of a known-hosts file."""
    try:
        words = _lines(file)[number - 1].split()
        key = base64.b64decode(words[words[0].startswith("@") :][2], validate=True)
    except (IndexError, binascii.Error):
        return ""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def _lines(file: Path) -> list[str]:
    with files.access(file, error=DeviceError):
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []
