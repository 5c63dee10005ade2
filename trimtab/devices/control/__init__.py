"""Devices under control during a measurement: leases, pinned cores, clocks, temperatures."""

from trimtab.devices.control.controlled import (
    KEEP,
    Control,
    Controlled,
    LaunchConditions,
    controlled,
)

__all__ = ["KEEP", "Control", "Controlled", "LaunchConditions", "controlled"]
