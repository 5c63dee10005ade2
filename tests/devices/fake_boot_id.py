"""A boot id that a test plays, in place of the kernel's, for every script on the device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trimtab.devices import scripts

BOOT_ID = "/proc/sys/kernel/random/boot_id"


def play_boot_id(patch: Callable[[object, str, object], None], file: Path) -> None:
    """Lets scripts read the boot id from `file`. `patch`: as `MonkeyPatch.setattr`."""
    read = scripts.read
    assert BOOT_ID in read("settle")
    patch(scripts, "read", lambda name: read(name).replace(BOOT_ID, str(file)))
