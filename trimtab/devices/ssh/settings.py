"""The SSH configuration of a host: from `ssh -G`, or from paramiko without OpenSSH.

`ssh -G HOST` evaluates Include, Match, patterns, tokens and defaults as OpenSSH does. A machine
without OpenSSH's client has paramiko's `SSHConfig`, which evaluates Host and most of Match; Include
is evaluated here if it stands before the first Host.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from trimtab import system
from trimtab.devices.ssh.address import Address
from trimtab.errors import DeviceError

_SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
_MAX_HOPS = 16
_MAX_INCLUDES = 16
_IDENTITIES = ("id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk")
_DEFAULTS = {
    "port": ("22",),
    "userknownhostsfile": ("~/.ssh/known_hosts ~/.ssh/known_hosts2",),
    "globalknownhostsfile": ("/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2",),
    "identityfile": tuple(f"~/.ssh/{name}" for name in _IDENTITIES),
}


@dataclass(frozen=True)
class HostSettings:
    """The configuration of one host: `values` by lower-case keyword, one entry per line.

    `host` is the name that was looked up (`%n`).
    """

    host: str
    values: Mapping[str, tuple[str, ...]]

    def first(self, keyword: str) -> str:
        """The value of a keyword; "" if it is not set, or `none`."""
        value = next(iter(self.values.get(keyword, ())), "")
        return "" if value.lower() == "none" else value

    def is_on(self, keyword: str) -> bool:
        """Whether a switch is on."""
        return self.first(keyword).lower() in ("yes", "true")

    @property
    def hostname(self) -> str:
        """The name or address to connect to."""
        return self.first("hostname") or self.host

    @property
    def port(self) -> int:
        """The TCP port."""
        return int(self.first("port"))

    @property
    def user(self) -> str:
        """The login on the server."""
        return self.first("user") or getpass.getuser()

    @property
    def known_hosts_name(self) -> str:
        """The name of the host in known_hosts files."""
        if alias := self.first("hostkeyalias"):
            return alias
        hostname = self.hostname.lower()
        return hostname if self.port == 22 else f"[{hostname}]:{self.port}"

    @property
    def known_hosts_files(self) -> tuple[Path, ...]:
        """The user's and the machine's files of known host keys."""
        names = [
            name
            for keyword in ("userknownhostsfile", "globalknownhostsfile")
            for name in shlex.split(self.first(keyword))
        ]
        return tuple(self._path(name) for name in names)

    @property
    def identity_files(self) -> tuple[Path, ...]:
        """Private keys, in the order of the configuration; not all of them need to exist."""
        return tuple(self._path(name) for name in self.values.get("identityfile", ()))

    @property
    def certificate_files(self) -> tuple[Path, ...]:
        """User certificates that are named explicitly."""
        return tuple(self._path(name) for name in self.values.get("certificatefile", ()))

    @property
    def agent_socket(self) -> str:
        """The agent's socket, "" for no agent."""
        value = next(iter(self.values.get("identityagent", ())), "SSH_AUTH_SOCK")
        if value == "SSH_AUTH_SOCK" or value.startswith("$"):
            return os.environ.get(value.strip("${}"), "")
        return "" if value == "none" else str(self._path(value))

    @property
    def jump_hosts(self) -> tuple[str, ...]:
        """The hosts of ProxyJump, the one next to this machine first."""
        return tuple(filter(None, self.first("proxyjump").split(",")))

    @property
    def proxy_command(self) -> str:
        """The expanded ProxyCommand, "" for none."""
        return self._expanded(self.first("proxycommand"))

    @property
    def environment(self) -> dict[str, str]:
        """The variables of SetEnv. SendEnv is ignored: commands do not depend on this machine."""
        pairs = (line.partition("=") for line in self.values.get("setenv", ()))
        return {name: value for name, _, value in pairs}

    def algorithms(self, keyword: str) -> tuple[str, ...]:
        """A complete list of algorithms; empty if the configuration gives none."""
        value = self.first(keyword)
        return () if not value or value[0] in "+-^" else tuple(value.split(","))

    def _path(self, text: str) -> Path:
        return Path(self._expanded(text)).expanduser()

    def _expanded(self, text: str) -> str:
        """`text` with the tokens of ssh_config(5)."""
        local = socket.gethostname()
        tokens = {
            "%": "%",
            "d": str(Path.home()),
            "h": self.hostname,
            "i": str(system.user_id()),
            "k": self.first("hostkeyalias") or self.host,
            "L": local.partition(".")[0],
            "l": local,
            "n": self.host,
            "p": str(self.port),
            "r": self.user,
            "u": getpass.getuser(),
        }
        if "%C" in text:
            identity = f"{local}{self.hostname}{self.port}{self.user}{self.first('proxyjump')}"
            tokens["C"] = hashlib.sha1(identity.encode()).hexdigest()
        return re.sub("%(.)", lambda token: tokens.get(token[1], token[0]), text)


def resolve(address: Address, where: str) -> HostSettings:
    """The settings of an address. Raises `DeviceError` for a wrong configuration."""
    has_ssh = shutil.which("ssh") is not None
    return _ask_openssh(address, where) if has_ssh else _ask_paramiko(address, where)


def route(address: Address, where: str, hops: int = 0) -> tuple[HostSettings, ...]:
    """The settings of all hosts on the way to an address, which is the last one."""
    if hops > _MAX_HOPS:
        raise DeviceError(
            f"more than {_MAX_HOPS} jump hosts",
            where=where,
            hint="ProxyJump of the SSH configuration may form a loop",
        )
    settings = resolve(address, where)
    jumps = settings.jump_hosts
    if not jumps:
        return (settings,)
    before = ",".join(jumps[:-1]) or None
    return (*route(_jump_host(jumps[-1], address, before), where, hops + 1), settings)


def environment() -> dict[str, str]:
    """The environment for `ssh`, in which no window may ask for a password."""
    return os.environ | {"SSH_ASKPASS_REQUIRE": "never"}


def _jump_host(text: str, address: Address, jump: str | None) -> Address:
    uri = urlsplit(text if text.startswith("ssh://") else f"ssh://{text}")
    return Address(
        host=uri.hostname or text,
        user=uri.username,
        port=uri.port,
        config=address.config,
        jump=jump,
    )


def _ask_openssh(address: Address, where: str) -> HostSettings:
    # With a command: ssh insists on one if the configuration says ForkAfterAuthentication.
    words = ["ssh", "-G", "-oRemoteCommand=none", *address.words(), "--", address.host, "true"]
    result = subprocess.run(
        words,
        capture_output=True,
        text=True,
        env=environment(),
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if result.returncode != 0:
        raise DeviceError(
            f"ssh refuses the configuration: {result.stderr.strip()[-400:]}",
            where=where,
            hint="correct `host`, `port` and `user` in the device's definition, or the file "
            "that the message names",
        )
    values: dict[str, tuple[str, ...]] = {}
    for line in result.stdout.splitlines():
        keyword, _, value = line.partition(" ")
        values[keyword] = (*values.get(keyword, ()), value)
    return HostSettings(address.host, values)


def _ask_paramiko(address: Address, where: str) -> HostSettings:
    import paramiko

    config = paramiko.SSHConfig()
    files = [Path.home() / ".ssh" / "config", _SYSTEM_CONFIG]
    try:
        for file in files if address.config is None else [address.config]:
            config.parse(_included(file, where).splitlines())
        options: Mapping[str, Any] = config.lookup(address.host)
    except (paramiko.SSHException, KeyError, TypeError, ValueError) as error:
        raise DeviceError(
            f"paramiko cannot read the SSH configuration: {error}",
            where=where,
            hint="install OpenSSH's client, which reads all of it, or name a simpler file as "
            "`config` in the device's definition",
        ) from error
    values = {
        **_DEFAULTS,
        **{keyword: _lines(keyword, value) for keyword, value in options.items()},
    }
    overrides = {
        "user": address.user,
        "port": address.port,
        "proxyjump": address.jump,
        "identityfile": address.key,
        "identitiesonly": "yes" if address.key else None,
    }
    values |= {key: (str(value),) for key, value in overrides.items() if value is not None}
    return HostSettings(address.host, values)


def _lines(keyword: str, value: Any) -> tuple[str, ...]:
    """A value of paramiko's configuration in the form of `ssh -G`."""
    if isinstance(value, list):
        return tuple(value)
    if keyword == "setenv":
        return tuple(shlex.split(value or ""))
    return (str(value or "none"),)


def _included(file: Path, where: str, depth: int = 0) -> str:
    """The text of a configuration with its Include lines replaced by the files that they name."""
    if not file.is_file() or depth > _MAX_INCLUDES:
        return ""
    lines, is_global = [], True
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        keyword, _, argument = line.strip().replace("=", " ", 1).partition(" ")
        is_global = is_global and keyword.lower() not in ("host", "match")
        if keyword.lower() != "include":
            lines.append(line)
            continue
        if not is_global:
            raise DeviceError(
                "Include below a Host or Match needs OpenSSH's client, which is not installed",
                where=f"{where}: {file}",
                hint="apt-get install openssh-client, or move the line to the top of the file",
            )
        for pattern in shlex.split(argument):
            path = Path(pattern).expanduser()
            path = path if path.is_absolute() else Path.home() / ".ssh" / path
            files = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
            lines += [_included(file, where, depth + 1) for file in files]
            lines.append("Host *")  # ends the last Host of the included file
    return "\n".join(lines)
