"""Devices and their facts as text for people and as JSON for programs."""

from __future__ import annotations

import json
from dataclasses import asdict

from tabulate import tabulate

from trimtab.devices.definition import list_devices
from trimtab.devices.protocol import DeviceInfo


def as_table() -> str:
    """All devices, one per line."""
    rows = [
        (device.name, device.transport, device.toolchain, device.cpu or "", device.doc)
        for device in list_devices()
    ]
    return tabulate(rows, headers=("device", "transport", "toolchain", "cpu", "what it is"))


def as_json() -> str:
    """All devices as a list of objects; `path` is the file that defines one."""
    rows = [asdict(device) | {"path": str(device.path)} for device in list_devices()]
    return json.dumps(rows, indent=2)


def info_as_json(name: str, info: DeviceInfo) -> str:
    """The facts of one device."""
    return json.dumps({"name": name} | asdict(info), indent=2)


def info_as_text(name: str, info: DeviceInfo) -> str:
    """The facts of one device, one per line; what it does not tell is a dash."""
    memory = None if info.memory_bytes is None else f"{info.memory_bytes / 2**20:.0f} MiB"
    frequencies = " ".join(f"{mhz:g}" for mhz in info.frequencies_mhz)
    temperature = info.temperature_celsius
    rows = [
        ("device", name),
        ("machine", info.machine),
        ("kernel", info.kernel),
        ("cpu", info.cpu),
        ("cpus", info.cpu_count),
        ("memory", memory),
        ("governor", info.governor),
        ("MHz", frequencies or None),
        ("temperature", None if temperature is None else f"{temperature:.1f} °C"),
        ("emulated", "yes: its times are not speeds" if info.is_emulated else "no"),
    ]
    return tabulate([(key, value or "-") for key, value in rows], tablefmt="plain")
