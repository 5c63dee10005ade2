"""A device under lease and control for one measurement, reacquired after a disconnect.

A broken link or a restart costs only the operation in progress: `recover` waits until the device
answers, ends leftover processes, acquires the lease again, and fixes the clocks again, so launches
before and after the disconnect are comparable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Self

from trimtab.devices.control import Control, Controlled, controlled
from trimtab.devices.protocol import Device
from trimtab.errors import DeviceError, DeviceRebootedError, DeviceUnreachableError

_REACQUIRE_S = 60.0  # longer than the lifetime of our previous lease, which nobody released


class DeviceSession:
    """A context manager that holds a device. `control` is its present control.

    `lanes` are the connections for simultaneous launches, the device's own first. Each launch has
    its own, since some servers allow one command per connection (`MaxSessions`), or confuse two
    (dropbear).
    """

    control: Controlled

    def __init__(
        self,
        device: Device,
        control: Control,
        *,
        threads: int,
        lanes: int,
        note: Callable[[str], None],
    ) -> None:
        """Acquires nothing yet. `lanes` is the number of simultaneous launches."""
        self.device, self.lanes = device, [device]
        self._control, self._threads, self._count = control, threads, lanes
        self._note = note
        self._on_exit = ExitStack()
        self._throttled: list[str] = []
        self._has_restarted = False

    def __enter__(self) -> Self:
        """Acquires the device; errors as in `controlled`."""
        self._acquire(self._control)
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Releases the device."""
        self._on_exit.close()

    @property
    def throttled(self) -> list[str]:
        """The reasons why launches so far count as throttled, without duplicates."""
        return list(dict.fromkeys([*self._throttled, *self.control.throttled]))

    def recover(self, error: DeviceUnreachableError) -> str:
        """Acquires the device again after the disconnect `error`, and returns the cause in words.

        Raises DeviceUnreachableError if it stays away or disconnects again; `recover` may be called
        again then. Raises DeviceBusyError if another process holds it, and DeviceError if its state
        differs from that before the disconnect.
        """
        self._note(f"{self.device.name}: {error.what}: waiting for it to come back")
        self._has_restarted |= isinstance(error, DeviceRebootedError)
        self._wait()
        before = _state(self.control)
        self._throttled = self.throttled
        self._on_exit.close()  # ends leftover processes, and restores the device's settings
        wait_s = max(self._control.wait_s, _REACQUIRE_S)
        self._acquire(dataclasses.replace(self._control, wait_s=wait_s))
        if (now := _state(self.control)) != before:
            raise DeviceError(
                f"it came back in another state: {_describe(now)} instead of {_describe(before)}",
                where=self.device.name,
                hint="launches in different states are not comparable: measure again",
            ) from error
        cause = "the device restarted" if self._has_restarted else f"the link broke ({error.what})"
        self._has_restarted = False
        return cause

    def _acquire(self, control: Control) -> None:
        with ExitStack() as stack:
            controlled_device = stack.enter_context(
                controlled(self.device, control, threads=self._threads, note=self._note)
            )
            others = [stack.enter_context(self.device.clone()) for _ in range(1, self._count)]
            self.control = controlled_device
            self.lanes = [self.device, *others]
            self._on_exit = stack.pop_all()

    def _wait(self) -> None:
        """Waits until the device answers, or its transport gives up after a minute."""
        try:
            self.device.shell("true", "connect again")
        except DeviceRebootedError:  # reported once; the connection works
            self._has_restarted = True


def _state(control: Controlled) -> Sequence[Any]:
    """The state that comparable launches share."""
    return (control.cores, control.governor, tuple(control.uncontrolled))


def _describe(state: Sequence[Any]) -> str:
    cores, governor, uncontrolled = state
    facts = (f"cores {cores or 'any'}", f"governor {governor or 'unknown'}", *uncontrolled)
    return ", ".join(facts)
