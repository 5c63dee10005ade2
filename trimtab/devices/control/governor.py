"""The frequency governor of the cores that are measured: set, read back, and put back.

What was changed is written into a journal on this machine before it is changed, so that whoever
measures next on the device undoes it when this process is killed. A change that somebody else made
meanwhile is left as it is: put back is what is still as we set it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from trimtab import files, paths
from trimtab.devices import scripts
from trimtab.devices.control import sysfs
from trimtab.devices.protocol import Device
from trimtab.errors import DeviceError

GOVERNOR = "devices/system/cpu/cpu#/cpufreq/scaling_governor"
DRIVER = "devices/system/cpu/cpu#/cpufreq/scaling_driver"


@dataclass(frozen=True)
class Change:
    """One core's governor: the file below the device's `sysfs`, its text before and now."""

    file: str
    was: str
    now: str


def journal_of(device: str, boot_id: str | None) -> Path:
    """The journal of a device: named by its boot, so that two names of it share one."""
    safe = "".join(c for c in boot_id or device if c.isalnum() or c in "-_")
    return paths.config() / "journal" / f"{safe}.json"


def planned(cores: Collection[int], wanted: str, governors: sysfs.Tree) -> list[Change]:
    """What must be changed so that all of `cores` have the governor `wanted`."""
    return [
        Change(GOVERNOR.replace("#", str(core)), was, wanted)
        for core, was in governors.find(GOVERNOR)
        if core in cores and was != wanted
    ]


def apply(device: Device, changes: Sequence[Change], journal: Path, undo_file: str) -> str:
    """Makes the changes, noted first in `journal` here and as a script in `undo_file` there; gives
    what the device refused, "" for nothing.

    Cores of one clock domain share a governor, so what is judged is what is read back at the end.
    """
    if not changes:
        return ""
    text = json.dumps({"device": device.name, "changes": [asdict(change) for change in changes]})
    files.write_text(journal, text, durable=True, error=DeviceError)  # before anything is changed
    undo = _script("restore_governor", device, changes)
    device.shell(scripts.script("write_file", undo_file, undo), "note how to undo the governor")
    refused = _run(device, _script("set_governor", device, changes))
    found = sysfs.read(device, *(change.file for change in changes))
    missed = sorted({found.files.get(c.file, "") for c in changes} - {changes[0].now})
    if not missed:
        return ""
    why = refused.strip().rpartition("\n")[2].rpartition(": ")[2] or "it does not take it"
    return f"governor stays {'+'.join(missed)}: {why[:80]}"


def put_back(device: Device, changes: Sequence[Change], journal: Path) -> None:
    """Undoes `changes`, reads that back, and forgets the journal.

    Raises `DeviceError` for what does not go back; the journal then stays for the next run.
    """
    if not changes:
        return
    refused = _run(device, _script("restore_governor", device, changes))
    found = sysfs.read(device, *(change.file for change in changes))
    stuck = [c for c in changes if found.files.get(c.file) == c.now]
    if stuck:
        path = f"{device.sysfs}/{stuck[0].file}"
        raise DeviceError(
            f"the governor of {len(stuck)} cores could not be put back: {refused.strip()[-200:]}",
            where=device.name,
            hint=f"on the device: echo {stuck[0].was} >{path}",
        )
    journal.unlink(missing_ok=True)


def undo_journal(device: Device, journal: Path) -> str:
    """Puts back what a run that was killed has left; gives what was done, "" for nothing.

    The caller has the device to itself. After a reboot there is nothing to be put back.
    """
    for other in journal.parent.glob("*.json"):
        if other != journal and _read(other)[0] == device.name:
            other.unlink(missing_ok=True)  # of an earlier boot
    changes = _read(journal)[1]
    if not changes:
        return ""
    put_back(device, changes, journal)
    before = "+".join(sorted({change.was for change in changes}))
    return f"put the governor back to {before}, which a run that was killed had left changed"


def _run(device: Device, text: str) -> str:
    """Runs a script; its complaints."""
    return device.shell(f"exec 2>&1\n{text}", "set the governor")


def _script(name: str, device: Device, changes: Sequence[Change]) -> str:
    arguments = ((f"{device.sysfs}/{c.file}", c.was, c.now) for c in changes)
    return scripts.script(name, *(word for words in arguments for word in words))


def _read(journal: Path) -> tuple[str, list[Change]]:
    """The device and the changes in a journal; nothing of one that is not there, or is damaged."""
    try:
        content = json.loads(journal.read_text(encoding="utf-8"))
        known = {field.name for field in dataclasses.fields(Change)}
        changes = [Change(**{k: str(c[k]) for k in known}) for c in content["changes"]]
        return str(content["device"]), changes
    except (OSError, ValueError, TypeError, KeyError):
        return "", []
