"""Known SSH host keys: the user's known_hosts files, and one file of pinned keys per device."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from trimtab import files, paths
from trimtab.devices.ssh.settings import HostSettings
from trimtab.errors import DeviceError, HostKeyError

CERT_AUTHORITY, REVOKED = "@cert-authority", "@revoked"


@dataclass(frozen=True)
class KnownKey:
    """One line of a known_hosts file that applies to a host.

    `marker`: "", `@cert-authority` or `@revoked`. `type`: of the key, such as `ssh-ed25519`.
    """

    file: Path
    line: int
    marker: str
    type: str
    key: bytes

    @property
    def place(self) -> str:
        """FILE:LINE."""
        return f"{self.file}:{self.line}"


def known_hosts_file(device: str) -> Path:
    """The file of pinned keys of `device`, in OpenSSH's known_hosts format."""
    return paths.config() / "known_hosts" / device


def pin(file: Path, host: str, key: str) -> None:
    """Adds `key` (`TYPE BASE64`) as a key of `host`; replaces the file as a whole."""
    with files.access(file, error=DeviceError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with files.locked(file.parent / ".lock"):
        before = "".join(f"{line}\n" for line in _lines(file))
        files.write_text(file, f"{before}{host} {key.strip()}\n", error=DeviceError)


def is_pinned(file: Path, host: str) -> bool:
    """Whether `file` has any key of `host` (`[NAME]:PORT` unless the port is 22)."""
    names = (line.partition(" ")[0].lower().split(",") for line in _lines(file))
    return any(host.lower() in own for own in names)


def find(known_hosts: Iterable[Path], host: str) -> list[KnownKey]:
    """The lines of known_hosts files that apply to `host`, hashed names and patterns included.

    Unreadable files and malformed lines are skipped, as OpenSSH does.
    """
    keys = []
    for file in known_hosts:
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for number, line in enumerate(lines, 1):
            words = line.split()
            marker = words.pop(0).lower() if words and words[0].startswith("@") else ""
            if len(words) < 3 or words[0].startswith("#") or not _applies(words[0], host):
                continue
            try:
                key = base64.b64decode(words[2], validate=True)
            except binascii.Error:
                continue
            keys.append(KnownKey(file, number, marker, words[1], key))
    return keys


def judge(lines: Sequence[KnownKey], key_type: str, key: bytes, where: str) -> bool:
    """Whether `key`, which a server offers, is in the known_hosts `lines` of its host.

    False if there is no key of its type. Raises `HostKeyError` for a revoked or changed key.
    """
    for line in lines:
        if line.marker == REVOKED and line.key == key:
            raise _changed(where, f"{line.place} revokes", fingerprint(key), line.place)
    plain = [line for line in lines if not line.marker]
    if any(line.key == key for line in plain):
        return True
    for line in plain:
        if line.type == key_type:
            raise _changed(where, fingerprint(line.key), fingerprint(key), str(line.file))
    return False


def unknown(where: str, host: str, key_fingerprint: str) -> HostKeyError:
    """The error for a device whose key is not known yet."""
    return HostKeyError(
        f"unknown host key {key_fingerprint}",
        where=f"{where} ({host})",
        hint="compare it with the output of `ssh-keygen -lf "
        "/etc/ssh/ssh_host_ed25519_key.pub` on the device, then use --trust-new once",
    )


def unknown_jump_host(where: str, jump: str, host: str, key_fingerprint: str = "") -> HostKeyError:
    """The error for a jump host whose key is not known.

    `jump`: its name in ProxyJump; `host`: in known_hosts files.
    """
    return HostKeyError(
        f"unknown host key {key_fingerprint} of the jump host {jump} (ProxyJump)".replace(
            "  ", " "
        ),
        where=f"{where} (by {host})",
        hint=f"log in there once, by `ssh {jump}`: jump hosts must be in your own known_hosts",
    )


def refusal(where: str, log: str, jumps: Sequence[HostSettings]) -> HostKeyError | None:
    """The error for a host key that OpenSSH's client refused, from its log at level DEBUG1.

    None if the log shows another problem. `jumps`: the jump hosts. The process of one tells its
    name only if its key has changed, so those without a known key are named, or all.
    """
    names = {jump.known_hosts_name: jump for jump in jumps}
    offered = re.search(r"^debug1: Server host key: \S+ (\S+)", log, re.M)
    if "REMOTE HOST IDENTIFICATION HAS CHANGED" in log or "REVOKED HOST KEY" in log:
        offending = re.search(r"^Offending \S+ key in (.+):(\d+)", log, re.M)
        file = offending[1] if offending else ""
        pinned = _fingerprint_at(Path(file), int(offending[2])) if offending else ""
        changed = re.search(r"^Host key for (\S+) has changed", log, re.M)
        if changed and changed[1] in names:
            where = f"{where} (jump host {names[changed[1]].host})"
        return _changed(where, pinned, offered[1] if offered else "", file)
    if "Host key verification failed" not in log:
        return None
    host = re.search(r"^No \S+ host key is known for (\S+)", log, re.M)
    if host and offered and host[1] not in names:
        return unknown(where, host[1], offered[1])
    strangers = [name for name in names if not find(names[name].known_hosts_files, name)] or names
    aliases = ", ".join(names[name].host for name in strangers)
    return unknown_jump_host(where, aliases, ", ".join(strangers))


def fingerprint(key: bytes) -> str:
    """The fingerprint of a public key, as OpenSSH prints it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def _changed(where: str, pinned: str, offered: str, file: str) -> HostKeyError:
    return HostKeyError(
        f"the host key changed: pinned {pinned or 'another'}, offered {offered or 'another'}; "
        "the connection may be intercepted",
        where=where,
        hint=f"if the device was installed anew, remove {file or 'its line of known_hosts'} "
        "and use --trust-new once",
    )


def _applies(names: str, host: str) -> bool:
    """Whether the first field of a line applies to `host`: names, patterns, or one hashed name.

    As OpenSSH compares: case counts for a hashed name alone.
    """
    if names.startswith("|1|"):
        _, _, salt, digest = (*names.split("|"), "", "")[:4]
        try:
            expected = hmac.digest(base64.b64decode(salt), host.encode(), "sha1")
            return hmac.compare_digest(base64.b64decode(digest), expected)
        except binascii.Error:
            return False
    matches, host = False, host.lower()
    for pattern in names.lower().split(","):
        escaped = pattern.replace("[", "[[]")  # OpenSSH's patterns have only * and ?
        if escaped.startswith("!") and fnmatchcase(host, escaped[1:]):
            return False
        matches = matches or fnmatchcase(host, escaped)
    return matches


def _fingerprint_at(file: Path, number: int) -> str:
    try:
        words = _lines(file)[number - 1].split()
        key = base64.b64decode(words[words[0].startswith("@") :][2], validate=True)
    except (IndexError, binascii.Error):
        return ""
    return fingerprint(key)


def _lines(file: Path) -> list[str]:
    with files.access(file, error=DeviceError):
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []
