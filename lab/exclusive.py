"""Exclusive use of this machine, for measurements in processes of our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trimtab.devices import find_device
from trimtab.devices.control.controlled import Control, controlled
from trimtab.progress import SILENT, Progress


@contextmanager
def exclusive(purpose: str, wait_s: float = 0.0, progress: Progress = SILENT) -> Iterator[None]:
    """Holds the lease of the device `local`, with its clocks fixed, as `bench` does.

    DeviceBusyError when another measurement holds it for longer than `wait_s`, or has taken it over
    before the end, which makes the figures of both doubtful.
    """
    control = Control(cores="all", wait_s=wait_s)
    with (
        find_device("local").open() as device,
        controlled(device, control, purpose=purpose, note=progress.note) as lease,
    ):
        yield
        lease.confirm()
