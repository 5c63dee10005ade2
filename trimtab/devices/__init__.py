"""Devices that run binaries: `find_device("pi4").open()` is a `Device`; use it in a `with`."""

from trimtab.devices.protocol import (
    CacheSimulator,
    CommandResult,
    Device,
    DeviceInfo,
    InstructionCounter,
    InstructionCounts,
    Mark,
    PushedFile,
    Room,
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
    "PushedFile",
    "Room",
    "Transcript",
    "find_device",
    "list_devices",
]
