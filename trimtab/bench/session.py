"""A device that is held for one measurement, and taken again when it was lost meanwhile.

A link that breaks, or a board that restarts, costs what was going on at that moment and no more:
`recover` waits until the device answers again, ends what was left there, takes the lease anew and
makes the clocks steady once more, so that launches before and after are of one kind.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Self

from trimtab.devices.control import Control, Controlled, controlled
from trimtab.devices.protocol import Device
from trimtab.errors import DeviceError, DeviceRebootedError, DeviceUnreachableError

_AGAIN_S = 60.0  # our own lease, which nobody could give back, runs out before


class Session:
    """The device while it is ours; enter it with `with`. `held` is its control at this moment.

    `lanes`: connections for launches at the same moment, the device's own first. Each has its own
    since some servers allow one command per connection (`MaxSessions`), or mix up two (dropbear).
    """

    held: Controlled

    def __init__(
        self,
        device: Device,
        control: Control,
        *,
        threads: int,
        lanes: int,
        note: Callable[[str], None],
    ) -> None:
        """Nothing is taken yet; `lanes`: as many launches at the same moment."""
        self.device, self.lanes = device, [device]
        self._control, self._threads, self._count = control, threads, lanes
        self._note = note
        self._on_exit = ExitStack()
        self._throttled: list[str] = []
        self._has_restarted = False

    def __enter__(self) -> Self:
        """Takes the device; raises what `controlled` raises."""
        self._take(self._control)
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Gives it back."""
        self._on_exit.close()

    @property
    def throttled(self) -> list[str]:
        """Why launches so far count as throttled, each reason once."""
        return list(dict.fromkeys([*self._throttled, *self.held.throttled]))

    def recover(self, lost: DeviceUnreachableError) -> str:
        """Takes the device again after it was `lost`; gives what had happened, in words.

        Raises `DeviceUnreachableError` when it stays away or is lost again, and may be called once
        more then; `DeviceBusyError` when another has taken it, and `DeviceError` when it comes back
        in another state than it was measured in.
        """
        self._note(f"{self.device.name}: {lost.what}: waits until it is back")
        self._has_restarted |= isinstance(lost, DeviceRebootedError)
        self._wait()
        before = _state(self.held)
        self._throttled = self.throttled
        self._on_exit.close()  # ends what still runs there, and puts back what was changed
        wait_s = max(self._control.wait_s, _AGAIN_S)
        self._take(dataclasses.replace(self._control, wait_s=wait_s))
        if (now := _state(self.held)) != before:
            raise DeviceError(
                f"it came back in another state: {_told(now)}, and was {_told(before)}",
                where=self.device.name,
                hint="launches of both do not belong together: measure anew",
            ) from lost
        why = "the device restarted" if self._has_restarted else f"the link broke ({lost.what})"
        self._has_restarted = False
        return why

    def _take(self, control: Control) -> None:
        with ExitStack() as stack:
            held = stack.enter_context(
                controlled(self.device, control, threads=self._threads, note=self._note)
            )
            others = [stack.enter_context(self.device.beside()) for _ in range(1, self._count)]
            self.held, self.lanes = held, [self.device, *others]
            self._on_exit = stack.pop_all()

    def _wait(self) -> None:
        """Until the device answers, or its transport has no more patience (a minute)."""
        try:
            self.device.shell("true", "connect again")
        except DeviceRebootedError:  # said once; the connection is there
            self._has_restarted = True


def _state(held: Controlled) -> Sequence[Any]:
    """What has to be alike for launches to belong together."""
    return (held.cores, held.governor, tuple(held.uncontrolled))


def _told(state: Sequence[Any]) -> str:
    cores, governor, uncontrolled = state
    facts = (f"cores {cores or 'any'}", f"governor {governor or 'unknown'}", *uncontrolled)
    return ", ".join(facts)
