"""This machine for one measurement alone, for what is timed in processes of our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trimtab.devices import find_device
from trimtab.devices.control import Control, controlled
from trimtab.progress import SILENT, Progress


@contextmanager
def alone(purpose: str, wait_s: float = 0.0, progress: Progress = SILENT) -> Iterator[None]:
    """Takes the device `local` for the time of a `with`, its clocks steady, as `bench` does.

    Raises DeviceBusyError when another measures here for longer than `wait_s`, or has taken the
    machine away before the end, so that figures of both are in doubt.
    """
    wanted = Control(cores="all", wait_s=wait_s)
    with (
        find_device("local").open() as device,
        controlled(device, wanted, purpose=purpose, note=progress.note) as held,
    ):
        yield
        held.confirm()
