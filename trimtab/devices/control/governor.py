"""The frequency governor of the measured cores: set, read back, and restored.

Changes are written into a journal on this machine before they are made, so that the next
measurement on the device reverts them if this process is killed. A value that somebody else has set
in the meantime stays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from trimtab import files, paths, strict_json
from trimtab.devices import scripts
from trimtab.devices.control import sysfs
from trimtab.devices.protocol import Device
from trimtab.errors import DeviceError

GOVERNOR = "devices/system/cpu/cpu#/cpufreq/scaling_governor"
DRIVER = "devices/system/cpu/cpu#/cpufreq/scaling_driver"


@dataclass(frozen=True)
class GovernorChange:
    """One core's governor: the file below the device's `sysfs`, its text before and now."""

    file: str
    was: str
    now: str


def journal_of(device: str, boot_id: str | None) -> Path:
    """The journal of a device. Its name is the boot id, so that two names of a device share one."""
    safe = "".join(c for c in boot_id or device if c.isalnum() or c in "-_")
    return paths.config() / "journal" / f"{safe}.json"


def plan(cores: Collection[int], governor: str, tree: sysfs.SysfsTree) -> list[GovernorChange]:
    """The changes that give all of `cores` a governor."""
    return [
        GovernorChange(GOVERNOR.replace("#", str(core)), was, governor)
        for core, was in tree.find(GOVERNOR)
        if core in cores and was != governor
    ]


def apply(
    device: Device,
    changes: Sequence[GovernorChange],
    journal: Path,
    note: Callable[[Sequence[str]], None],
) -> str:
    """Makes the changes; the device's refusal, "" if it accepts them.

    Before that, `journal` is written here, and `note` gets the lines by which a watchdog reverts
    them. Cores of one clock domain share a governor, so the values are read back after all changes.
    """
    if not changes:
        return ""
    text = strict_json.dumps(
        {"device": device.name, "changes": [asdict(change) for change in changes]}
    )
    files.write_text(journal, text, durable=True, error=DeviceError)
    note([f"{change.file} {change.was} {change.now}" for change in changes])
    complaints = _run(device, _script("set_governor", device, changes))
    tree = sysfs.read(device, *(change.file for change in changes))
    unchanged = sorted({tree.files.get(c.file, "") for c in changes} - {changes[0].now})
    if not unchanged:
        return ""
    reason = complaints.strip().rpartition("\n")[2].rpartition(": ")[2] or "no reason is given"
    return f"governor stays {'+'.join(unchanged)}: {reason[:80]}"


def restore(device: Device, changes: Sequence[GovernorChange], journal: Path) -> None:
    """Reverts `changes`, reads the values back, and deletes the journal.

    Raises `DeviceError` if a value does not change; the journal then stays for the next run.
    """
    if not changes:
        return
    complaints = _run(device, _script("restore_governor", device, changes))
    tree = sysfs.read(device, *(change.file for change in changes))
    stuck = [change for change in changes if tree.files.get(change.file) == change.now]
    if stuck:
        path = f"{device.sysfs}/{stuck[0].file}"
        raise DeviceError(
            f"the governor of {len(stuck)} cores was not restored: {complaints.strip()[-200:]}",
            where=device.name,
            hint=f"on the device: echo {stuck[0].was} >{path}",
        )
    journal.unlink(missing_ok=True)


def restore_journal(device: Device, journal: Path) -> str:
    """Reverts the changes of a killed run; what was done, "" if there was nothing to do.

    The caller holds the device's lease. A reboot has reverted the changes by itself.
    """
    for other in journal.parent.glob("*.json"):
        if other != journal and _read(other)[0] == device.name:
            other.unlink(missing_ok=True)  # from an earlier boot
    changes = _read(journal)[1]
    if not changes:
        return ""
    restore(device, changes, journal)
    before = "+".join(sorted({change.was for change in changes}))
    return f"restored the governor {before}, which a killed run had changed"


def _run(device: Device, text: str) -> str:
    """Runs a script; its complaints."""
    return device.shell(f"exec 2>&1\n{text}", "set the governor")


def _script(name: str, device: Device, changes: Sequence[GovernorChange]) -> str:
    words = (word for c in changes for word in (c.file, c.was, c.now))
    return scripts.script(name, device.sysfs, *words)


def _read(journal: Path) -> tuple[str, list[GovernorChange]]:
    """The device and the changes of a journal; empty if it is missing or damaged."""
    try:
        content = strict_json.loads(journal.read_text(encoding="utf-8"))
        names = {field.name for field in dataclasses.fields(GovernorChange)}
        changes = [GovernorChange(**{n: str(c[n]) for n in names}) for c in content["changes"]]
        return str(content["device"]), changes
    except (OSError, ValueError, TypeError, KeyError):
        return "", []
