"""Transport `labgrid`: a place of a labgrid farm, over the SSH server of its board.

    transport = "labgrid"
    toolchain = "aarch64-linux-musl"
    cpu = "cortex-a72"
    place = "pi4-rack3"
    coordinator = "farm.example:20408"  # default: LG_COORDINATOR, or this machine
    resource = "NetworkService"         # one of the place, if it has several
    key = "~/.ssh/farm"                 # these five: as for `ssh`
    config = "lab/ssh_config"
    client = "openssh"
    directory = ".cache/trimtab"
    compress = true

Needs `pip install trimtab[labgrid]`, version 24 or later. The place is acquired while the device is
in use and released afterwards, also after a failure. A place that the user has acquired stays so.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Literal, Self

from trimtab.devices import ssh
from trimtab.devices.registry import DeviceDefinition
from trimtab.devices.ssh import Address, SshDevice
from trimtab.devices.ssh.host_keys import known_hosts_file
from trimtab.errors import (
    DeviceBusyError,
    DeviceError,
    DeviceUnreachableError,
    MissingRequirementError,
)

PROGRAMS = ssh.PROGRAMS

_CLIENT = "labgrid-client"
_CLIENT_S = 60.0


def _client() -> list[str] | None:
    """The command of labgrid's client: of this Python, or on the PATH. Of this Python it is the
    module, as the script that pip writes fails in folders with a `$`.
    """
    if find_spec("labgrid"):
        return [sys.executable, "-P", "-m", "labgrid.remote.client"]
    client = shutil.which(_CLIENT)
    return [client] if client else None


@dataclass(frozen=True)
class LabgridOptions:
    """The transport's keys in a device's file."""

    place: str
    coordinator: str = ""
    resource: str = ""
    key: str = ""
    config: str = ""
    client: Literal["openssh", "paramiko", ""] = ""
    directory: str = ".cache/trimtab"
    compress: bool = True


OPTIONS = LabgridOptions


@dataclass(frozen=True)
class Place:
    """A place of a coordinator ("": labgrid's default), and its resource ("": the only one)."""

    name: str
    coordinator: str
    resource: str


class LabgridDevice(SshDevice):
    """An SSH server that is in use while its place is acquired."""

    def __init__(
        self,
        name: str,
        directory: str,
        place: Place,
        address: Address,
        *,
        client: str,
        trust_new: bool,
        packs: bool,
    ) -> None:
        """`address`: without the host, which the acquired place reports."""
        super().__init__(name, directory, address, client=client, trust_new=trust_new, packs=packs)
        self._place = place
        self._is_acquired = False  # by us

    def __enter__(self) -> Self:
        """Acquires the place and connects. An error releases it again."""
        self._acquire()
        try:
            self._address = self._find()
            return super().__enter__()
        except BaseException:
            self._release()
            raise

    def __exit__(self, *exc_info: object) -> None:
        """Disconnects and releases the place."""
        try:
            super().__exit__(*exc_info)
        finally:
            self._release()

    def _acquire(self) -> None:
        result = self._labgrid("acquire")
        self._is_acquired = result.returncode == 0
        if self._is_acquired or f"already acquired place {self._place.name}." in result.stderr:
            return
        raise self._refusal_of(result)

    def _release(self) -> None:
        if not self._is_acquired:
            return
        self._is_acquired = False
        result = self._labgrid("release")
        if result.returncode != 0:
            raise self._refusal_of(result)

    def _find(self) -> Address:
        """The address of the board's SSH server."""
        result = self._labgrid("show")
        if result.returncode != 0:
            raise self._refusal_of(result)
        services = _services(result.stdout)
        resource = self._place.resource
        names = [name for name in services if resource in ("", name)]
        if len(names) != 1:
            raise DeviceError(
                f"the place has {'several' if names else 'no'} NetworkService {resource}".strip()
                + f"; there are: {', '.join(services) or 'none'}",
                where=self._where,
                hint="add a match for one to the place, or set `resource` in the definition",
            )
        service = services[names[0]]
        return replace(
            self._address,
            host=str(service["address"]),
            port=int(str(service.get("port", 22))),
            user=str(service["username"]),
            jump=_proxy(service),
        )

    @property
    def _where(self) -> str:
        host = f", {self._address.host}" if self._address.host else ""
        return f"{self.name} (place {self._place.name}{host})"

    def _labgrid(self, command: str) -> subprocess.CompletedProcess[str]:
        """The outcome of a command of labgrid's client about the place."""
        client = _client()
        if client is None:
            raise MissingRequirementError(
                f"{_CLIENT} is not installed",
                where=self.name,
                hint=f"{sys.executable} -m pip install 'trimtab[labgrid]'",
            )
        words = [*client, *(["-x", self._place.coordinator] if self._place.coordinator else [])]
        try:
            return subprocess.run(
                [*words, "-p", self._place.name, command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_CLIENT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise DeviceUnreachableError(
                f"{_CLIENT} {command} does not end within {_CLIENT_S:g} s", where=self._where
            ) from None

    def _refusal_of(self, result: subprocess.CompletedProcess[str]) -> DeviceError:
        message = (result.stderr or result.stdout).strip()[-400:]
        if "connect to coordinator" in message:
            return DeviceUnreachableError(
                f"no connection to labgrid's coordinator: {message}",
                where=self._where,
                hint="set `coordinator` in the device's definition, or LG_COORDINATOR",
            )
        if "already acquired" in message:
            return DeviceBusyError(
                message, where=self._where, hint=f"{_CLIENT} who; wait until it is released"
            )
        return DeviceError(
            f"labgrid refuses: {message}",
            where=self._where,
            hint=f"{_CLIENT} places; {_CLIENT} resources",
        )


def _services(shown: str) -> dict[str, dict[str, object]]:
    """The parameters of all NetworkServices in the output of `show`, by name."""
    pattern = r"^Acquired resource '([^']*)' \([^)]*/NetworkService/[^)]*\):\n((?:  .*\n?)+)"
    try:
        return {
            name: dict(ast.literal_eval(text.strip())["params"])
            for name, text in re.findall(pattern, shown, re.M)
        }
    except (ValueError, SyntaxError, KeyError, TypeError) as error:
        raise DeviceError(
            f"unexpected output of `{_CLIENT} show`: {error}", hint="labgrid 24 to 26 is supported"
        ) from error


def _proxy(params: dict[str, object]) -> str | None:
    """The jump host, if the exporter's network is isolated."""
    extra = params.get("extra")
    if isinstance(extra, dict) and extra.get("proxy_required"):
        return str(extra["proxy"])
    return None


def create(definition: DeviceDefinition, *, trust_new: bool) -> LabgridDevice:
    """Makes the device of a definition with this transport."""
    options = definition.read_options(LabgridOptions)
    address = Address(
        host="",
        known_hosts=known_hosts_file(definition.name),
        key=definition.local_path(options.key),
        config=definition.local_path(options.config) or ssh.config_of_home(),
    )
    return LabgridDevice(
        definition.name,
        options.directory,
        Place(options.place, options.coordinator, options.resource),
        address,
        client=options.client,
        trust_new=trust_new,
        packs=options.compress,
    )
