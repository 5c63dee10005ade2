"""Where binaries run: `find_device("pi4").open()` gives a `Device` to use in a `with`."""

from trimtab.devices.definition import Definition, find_device, list_devices
from trimtab.devices.protocol import (
    CacheSimulator,
    CommandResult,
    Device,
    DeviceInfo,
    InstructionCounter,
    InstructionCounts,
    Mark,
    Pushed,
    Transcript,
)

__all__ = [
    "CacheSimulator",
    "CommandResult",
    "Definition",
    "Device",
    "DeviceInfo",
    "InstructionCounter",
    "InstructionCounts",
    "Mark",
    "Pushed",
    "Transcript",
    "find_device",
    "list_devices",
]
