"""Transport `ssh`: a board with an SSH server.

    transport = "ssh"
    toolchain = "aarch64-linux-musl"
    cpu = "cortex-a72"
    host = "pi4.local"              # or a Host of ~/.ssh/config, which then says the rest
    user = "pi"                     # these three: by default what ~/.ssh/config says
    port = 22
    key = "~/.ssh/id_ed25519"
    config = "lab/ssh_config"       # in place of ~/.ssh/config
    client = "openssh"              # or "paramiko"; by default chosen from the configuration
    directory = ".cache/trimtab"    # relative to the home directory there
    compress = true                 # compress large files on their way, if it has `zstd` or `gzip`

Authentication is by key only, so that no password can end up in a command line. One connection
carries all commands; it asks a silent server for a sign of life, so that a frozen link ends.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from trimtab.devices.process import Sink, Source
from trimtab.devices.registry import DeviceDefinition
from trimtab.devices.remote import RemoteDevice, RunningCommand
from trimtab.devices.ssh import choice, client, host_keys
from trimtab.devices.ssh.address import Address, config_of_home
from trimtab.devices.ssh.choice import ClientChoice
from trimtab.devices.ssh.client import SshClient
from trimtab.devices.ssh.openssh import OpenSshClient
from trimtab.devices.ssh.settings import HostSettings, route
from trimtab.errors import DeviceError, DeviceUnreachableError
from trimtab.toml_table import Minimum


@dataclass(frozen=True)
class SshOptions:
    """The transport's keys in a device's file."""

    host: str
    port: Annotated[int, Minimum(1)] | None = None
    user: str = ""
    key: str = ""
    config: str = ""
    client: Literal["openssh", "paramiko", ""] = ""
    directory: str = ".cache/trimtab"
    compress: bool = True


OPTIONS = SshOptions


class SshDevice(RemoteDevice):
    """A device behind one SSH connection."""

    def __init__(
        self,
        name: str,
        directory: str,
        address: Address,
        *,
        client: str = "",
        trust_new: bool = False,
        is_emulated: bool = False,
        packs: bool = False,
    ) -> None:
        """Does not connect. `client`: "" to choose one; `trust_new` pins an unknown host key."""
        super().__init__(name, directory, is_emulated=is_emulated, packs=packs)
        self._address = address
        self._requested_client = client
        self._trust_new = trust_new
        self._client: SshClient | None = None
        self._choice: ClientChoice | None = None

    def clone(self) -> Self:
        """See `Device.clone`."""
        twin = copy.copy(self)
        twin._client = None
        return twin

    def _connect(self) -> None:
        for what, file in (("key", self._address.key), ("config", self._address.config)):
            if file is not None and not file.exists():
                raise DeviceError(
                    f"the {what} {file} does not exist",
                    where=self.name,
                    hint=f"correct `{what}` in the device's definition",
                )
        hosts = route(self._address, self._where)
        self._choice = choice.choose(hosts, self._address, self._requested_client, self._where)
        self.connection = str(self._choice)
        self._client = self._make_client(hosts)
        self._client.connect()

    def _make_client(self, hosts: tuple[HostSettings, ...]) -> SshClient:
        assert self._choice
        if self._choice.client == choice.OPENSSH:
            return OpenSshClient(hosts, self._address, self._where, trust_new=self._trust_new)
        from trimtab.devices.ssh.in_process import ParamikoClient

        return ParamikoClient(hosts, self._address, self._where, trust_new=self._trust_new)

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.disconnect()
            self._client = None

    def _start(
        self, script: str, stdout: Sink, stderr: Sink, stdin: Source | None
    ) -> RunningCommand:
        if self._client is None:
            raise DeviceUnreachableError("not connected", where=self.name)
        return self._client.start(script, stdout, stderr, stdin)

    def _cut_off(self, output: str) -> DeviceError:
        reason = self._client.failure() if self._client else "not connected"
        if reason is not None:
            return DeviceUnreachableError(
                f"the connection broke while a command was running: {reason or output}",
                where=self._where,
                hint="is it switched on, and is its network up?",
            )
        if not self._is_settled:
            return client.runs_another_command(self._where, output)
        # After successful commands the cause may pass: a shutdown, or a limit on resources.
        return DeviceUnreachableError(
            f"the login succeeds, but the server ends or refuses the command: {output}",
            where=self._where,
            hint="is it shutting down? Its SSH server may also end commands that use too much",
        )

    @property
    def _where(self) -> str:
        return f"{self.name} ({self._address.host})"


def create(definition: DeviceDefinition, *, trust_new: bool) -> SshDevice:
    """Makes the device of a definition with this transport."""
    options = definition.read_options(SshOptions)
    address = Address(
        host=options.host,
        known_hosts=host_keys.known_hosts_file(definition.name),
        port=options.port,
        user=options.user or None,
        key=definition.local_path(options.key),
        config=definition.local_path(options.config) or config_of_home(),
    )
    return SshDevice(
        definition.name,
        options.directory,
        address,
        client=options.client,
        trust_new=trust_new,
        packs=options.compress,
    )
