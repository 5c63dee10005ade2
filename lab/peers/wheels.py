"""Wheels of the peers for a device's Python, from PyPI; the device itself needs no network."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from lab import pip

FACTS = (
    "import json, platform, sys; print(json.dumps([f'{sys.version_info[0]}.{sys.version_info[1]}',"
    " platform.machine(), *platform.libc_ver()]))"
)
_OLDEST_GLIBC = 17  # of the wheels of aarch64


@dataclass(frozen=True)
class DevicePython:
    """A Python: its version, such as 3.11, the machine, and the C library with its version."""

    version: str
    machine: str
    libc: str
    libc_version: str

    @staticmethod
    def parse(output: bytes) -> DevicePython:
        """The output of `FACTS`; ValueError for anything else."""
        version, machine, libc, libc_version = json.loads(output.splitlines()[-1])
        return DevicePython(version, machine, libc, libc_version)

    @property
    def platforms(self) -> list[str]:
        """The platform tags of wheels that it can load, the newest first."""
        if self.libc == "glibc" and self.libc_version.startswith("2."):
            newest = int(self.libc_version.split(".")[1])
            tags = [f"manylinux_2_{minor}" for minor in range(newest, _OLDEST_GLIBC - 1, -1)]
        else:
            tags = ["musllinux_1_2", "musllinux_1_1"]
        return [f"{tag}_{self.machine}" for tag in [*tags, "manylinux2014", "linux"]]

    def __str__(self) -> str:
        return f"Python {self.version} on {self.machine}, {self.libc} {self.libc_version}"


def download(package: str, python: DevicePython, cache: Path) -> Path:
    """The newest wheel of a package for this Python, as `pip.wheel`."""
    folder = cache / f"wheels-{python.version}-{python.machine}-{python.libc_version}" / package
    options = ["--implementation", "cp", "--python-version", python.version]
    for platform in python.platforms:
        options += ["--platform", platform]
    hint = "name a program of it with --runner, or install it on the device and name its Python"
    return pip.wheel(package, folder, options, f"{hint} with --python ({python})")
