"""Where binaries run: `find_device("pi4").open()` gives a `Device` to use in a `with`."""

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
from trimtab.devices.registry import DeviceDefinition, find_device, list_devices

__all__ = [
    "CacheSimulator",
    "CommandResult",
    "Device",
    "DeviceDefinition",
    "DeviceInfo",
    "InstructionCounter",
    "InstructionCounts",
    "Mark",
    "Pushed",
    "Transcript",
    "find_device",
    "list_devices",
]
