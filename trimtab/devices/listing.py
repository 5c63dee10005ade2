"""The list of devices, and the facts of one: tables for people, JSON for programs."""

from __future__ import annotations

from dataclasses import asdict

from trimtab import strict_json
from trimtab.devices.protocol import DeviceInfo
from trimtab.devices.registry import list_devices, unreadable_devices
from trimtab.tables import Column, Table


def as_table() -> Table:
    """All devices, one per line; an unreadable definition with its error."""
    heads = ("device", "transport", "toolchain", "cpu", "what it is")
    rows = [
        *((d.name, d.transport, d.toolchain, d.cpu, d.doc) for d in list_devices()),
        *((name, None, None, None, f"error: {e}") for name, e in unreadable_devices().items()),
    ]
    return Table([Column(head) for head in heads], rows)


def as_json() -> str:
    """All devices as a list of objects.

    `path` is the file of the definition. An unreadable definition has only `name` and `error`.
    """
    rows: list[dict[str, object]] = [
        asdict(device) | {"path": str(device.path)} for device in list_devices()
    ]
    rows += [{"name": name, "error": str(e)} for name, e in unreadable_devices().items()]
    return strict_json.dumps(rows, indent=2)


def info_as_json(name: str, info: DeviceInfo, connection: str = "") -> str:
    """The facts of one device. `connection`: of the `Device`, left out if it is empty."""
    carried = {"connection": connection} if connection else {}
    return strict_json.dumps({"name": name} | asdict(info) | carried, indent=2)


def info_as_table(name: str, info: DeviceInfo, connection: str = "") -> Table:
    """The facts of one device, one per line; an unknown one is a dash."""
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
        ("emulated", "yes: its times are not latencies" if info.is_emulated else "no"),
        *([("connection", connection)] if connection else []),
    ]
    return Table([Column(""), Column("", absent="-")], rows)
