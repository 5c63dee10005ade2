"""Requirements on a device: programs, and a directory that takes files and runs programs.

All of it is checked at the first connection in each boot of the device, by settle.sh, so that no
later step fails for a reason that was known. `PROGRAMS` is the only list of the programs:
docs/devices.md shows it, and a test compares it with the scripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from trimtab.devices import scripts
from trimtab.errors import DeviceError


@dataclass(frozen=True)
class NeededProgram:
    """A program that the scripts call on a device.

    `package`: Debian's name of its package. `use`: what calls it. `without`: what a device that
    lacks it does instead, "" if the program is required.
    """

    name: str
    package: str
    use: str
    without: str = ""


PROGRAMS = (
    NeededProgram("sh", "dash", "runs every command"),
    NeededProgram("printf", "coreutils", "passes a command through any login shell"),
    NeededProgram("cat", "coreutils", "receives and sends files"),
    NeededProgram("chmod", "coreutils", "makes pushed files executable"),
    NeededProgram("grep", "grep", "reads the facts and the state of the processor"),
    NeededProgram("mkdir", "coreutils", "makes folders, and takes the lease"),
    NeededProgram("mv", "coreutils", "makes a file appear complete"),
    NeededProgram("rm", "coreutils", "removes files of a run"),
    NeededProgram("rmdir", "coreutils", "removes the folders of leases"),
    NeededProgram("sha256sum", "coreutils", "checks pushed files"),
    NeededProgram("sleep", "coreutils", "paces the watchdog"),
    NeededProgram("uname", "coreutils", "names the machine and its kernel"),
    NeededProgram("wc", "coreutils", "measures a file that is fetched"),
    NeededProgram(
        "setsid", "util-linux", "ends a runner with its children", "only the runner is ended"
    ),
    NeededProgram(
        "df", "coreutils", "measures the free space", "a full disk is noticed in the middle"
    ),
    NeededProgram(
        "vcgencmd", "raspi-utils", "tells the power of a Raspberry Pi 5", "other sources are read"
    ),
    NeededProgram("awk", "mawk", "reads what vcgencmd tells", "other sources are read"),
    NeededProgram("find", "findutils", "removes remains of killed runs", "they stay"),
    NeededProgram("zstd", "zstd", "decompresses large files", "`gzip` is used, or nothing"),
    NeededProgram("gzip", "gzip", "decompresses large files", "`zstd` is used, or nothing"),
    NeededProgram(
        "date", "coreutils", "is the clock of leases if `/proc/uptime` is closed", "it must be open"
    ),
)


@dataclass(frozen=True)
class Settled:
    """The device's boot id ("" if it has none), and the real path of trimtab's directory there."""

    boot_id: str
    folder: str


def script(directory: str, checked: str, *, runs: bool) -> str:
    """The script that makes and checks trimtab's directory.

    `checked`: the boot id of the last check, "" for none. `runs`: whether the device itself must be
    able to run programs in it.
    """
    names = (program.name for program in PROGRAMS if not program.without)
    return scripts.script("settle", directory, checked, "yes" if runs else "no", *names)


def parse(printed: str, device: str) -> Settled:
    """The output of `script`. Raises an error that names everything that prevents the work."""
    values: dict[str, list[str]] = {}
    for line in printed.splitlines():
        key, _, value = line.partition("=")
        values.setdefault(key, []).append(value)
    if names := values.get("missing"):
        raise lacking(names, device)
    folder = values.get("folder", [""])[0]
    if not folder.startswith("/"):
        raise DeviceError(f"unexpected directory {folder[:200]!r}", where=device)
    if why := values.get("closed"):
        # A full disk has no room for a folder's entry either; `device.unlock` must work there.
        if "No space left" not in why[0]:
            raise closed(folder, why[0], device)
    elif why := values.get("noexec"):
        raise noexec(folder, why[0], device)
    return Settled(values.get("boot", [""])[0], folder)


def lacking(names: Iterable[str], device: str) -> DeviceError:
    """The error of a device without programs that it needs."""
    names = [*names]
    packages = dict.fromkeys(p.package for p in PROGRAMS if p.name in names)
    return DeviceError(
        f"the device lacks {', '.join(names)}",
        where=device,
        hint=f"install there what has {'it' if len(names) == 1 else 'them'}: "
        f"apt-get install {' '.join(packages)} (Debian), or a busybox or toybox with "
        f"{'this program' if len(names) == 1 else 'these programs'}, in the PATH of a command that "
        "`ssh` runs; docs/devices.md lists all that are needed",
    )


def closed(folder: str, why: str, device: str) -> DeviceError:
    """The error of a directory that takes no files. `why`: the shell's or `mkdir`'s message."""
    return DeviceError(
        f"trimtab's directory {folder} cannot be written: {_reason(why)}",
        where=device,
        hint="set `directory` in the device's definition to a folder that your user may write, on "
        "a file system that is not read-only",
    )


def noexec(folder: str, why: str, device: str) -> DeviceError:
    """The error of a directory that runs no programs."""
    return DeviceError(
        f"the device runs no program in trimtab's directory {folder}: {_reason(why)}",
        where=device,
        hint="its file system may be mounted with `noexec` (`mount` shows that): set `directory` "
        "in the device's definition to a folder on another one",
    )


def lacking_shell(output: str) -> str:
    """The program of a command itself that a login shell does not find, "" for another problem."""
    match = re.search(
        r"\b(sh|printf): (?:command |inaccessible or )?not found|unknown command:? '?(sh|printf)\b",
        output,
        re.I,
    )
    return match[1] or match[2] if match else ""


def _reason(text: str) -> str:
    """The system's part of a message such as "dash: 1: ./f: Permission denied"."""
    return text.strip()[-300:].rpartition(": ")[2] or "no reason given"
