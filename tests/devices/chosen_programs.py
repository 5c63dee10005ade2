"""An SSH server whose shell finds only chosen programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.devices.conftest import SshServer
from tests.devices.servers import require
from trimtab.devices import requirements

REQUIRED = tuple(p.name for p in requirements.PROGRAMS if not p.without)


class ChosenPrograms:
    """A server as the device `board1`, with the required programs of this machine.

    Its `sh` is `shell`; dash has `printf` in itself, mksh does not.
    """

    def __init__(
        self, start: Callable[..., SshServer], config: Path, folder: Path, shell: str = "dash"
    ) -> None:
        self._start, self._config = start, config
        self.bin, self.directory = folder / "bin", folder / "board"
        self.bin.mkdir()
        self.install("sh", real=require(shell, shell))
        for name in REQUIRED[1:]:
            self.install(name)

    def install(self, name: str, script: str = "", *, real: str = "") -> None:
        """Adds a program of this machine, or a script under its name that may call `$real`."""
        real = real or require(name, name)
        if script:
            (self.bin / name).write_text(f"#!/bin/sh\nreal={real}\n{script}\n")
            (self.bin / name).chmod(0o755)
        else:
            (self.bin / name).symlink_to(real)

    def start(self, *extra: str, **changes: object) -> SshServer:
        """Starts the server and defines the device."""
        server = self._start(f"SetEnv PATH={self.bin}", *extra)
        server.define(self._config, "board1", directory=self.directory, **changes)
        return server
