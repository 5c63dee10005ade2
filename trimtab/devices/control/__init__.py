"""Devices under control while a measurement runs: leases, pinned cores, clocks, temperatures."""

from trimtab.devices.control.controlled import KEEP, Control, Controlled, Launch, controlled

__all__ = ["KEEP", "Control", "Controlled", "Launch", "controlled"]
