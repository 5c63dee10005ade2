"""The address of an SSH server, as a device's file gives it."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Address:
    """An SSH server and the login there. None leaves a value to the SSH configuration.

    `config`: a file in place of the user's configuration. `known_hosts`: the file of keys that are
    pinned for this device, in addition to the user's own; None for a jump host. `jump`: the jump
    hosts, as in `ProxyJump`.
    """

    host: str
    known_hosts: Path | None = None
    port: int | None = None
    user: str | None = None
    key: Path | None = None
    config: Path | None = None
    jump: str | None = None

    def words(self) -> list[str]:
        """The address as options of `ssh`."""
        words = [] if self.config is None else ["-F", str(self.config)]
        words += [] if self.port is None else [f"-oPort={self.port}"]
        words += [] if self.user is None else [f"-oUser={self.user}"]
        words += [] if self.jump is None else [f"-oProxyJump={self.jump}"]
        return words + ([] if self.key is None else ["-oIdentitiesOnly=yes", f"-i{self.key}"])


def config_of_home() -> Path | None:
    """The user's configuration file if `ssh` would not find it.

    `ssh` takes the home directory from the password database, trimtab from `HOME`.
    """
    if sys.platform == "win32":  # there it takes it from where `Path.home` does
        return None
    import pwd

    config = Path.home() / ".ssh" / "config"
    with contextlib.suppress(KeyError):
        if Path(pwd.getpwuid(os.getuid()).pw_dir) != Path.home() and config.is_file():
            return config
    return None
