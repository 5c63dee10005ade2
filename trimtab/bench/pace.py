"""Paced measurements: frames arrive at a fixed rate, as those of a camera do.

The runner takes the newest frame that has arrived, or waits for the next one; frames that a newer
one overtook are dropped. Meanwhile the device's clock, temperature and energy are sampled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType

from trimtab.devices.control import busy, thermal
from trimtab.devices.protocol import Device
from trimtab.errors import DeviceError, UsageError
from trimtab.results.records import Event

DEFAULT_S = 60.0
ENERGY_PAUSE_S = 1.0  # sampling takes time of the processor that is measured
_SAMPLES = 60  # of clock and temperature
_MIN_PAUSE_S = 1.0


@dataclass(frozen=True)
class Pace:
    """`fps` frames a second for `seconds`."""

    fps: float
    seconds: float = DEFAULT_S

    def __post_init__(self) -> None:
        """Raises UsageError for values that the runner would refuse."""
        for name, value, minimum, maximum in (
            ("fps", self.fps, 1 / 60, 1000),
            ("seconds", self.seconds, 1, 3600),
        ):
            if not minimum <= value <= maximum:
                raise UsageError(f"{name} is {value:g}, it must be {minimum:.2g} to {maximum}")

    @property
    def period_us(self) -> int:
        """Microseconds between two frames."""
        return round(1e6 / self.fps)


class Watch(AbstractContextManager["Watch"]):
    """Samples a device's clock and temperature over a connection of its own.

    `samples`: (seconds since the begin, MHz of the fastest core among `cores`, degrees Celsius);
    None where the device reports no value. `why`: why there are no more of them, "" if there are.
    `busy`: see `busy.shares`, of the whole time.
    """

    def __init__(self, device: Device, cores: Collection[int], pace: Pace) -> None:
        """Connects on entry."""
        self._device, self._cores, self._pace = device, cores, pace
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.samples: list[tuple[float, float | None, float | None]] = []
        self.why = ""
        self.busy: dict[int, float] = {}

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        self._thread.join()

    def event(self) -> Event:
        """The record's event `pace`."""
        return {
            "event": "pace",
            "fps": self._pace.fps,
            "seconds": self._pace.seconds,
            "samples": [list(sample) for sample in self.samples],
            "why": self.why,
            "busy": {str(core): share for core, share in self.busy.items()},
        }

    def _watch(self) -> None:
        begin_s = time.monotonic()
        pause_s = max(_MIN_PAUSE_S, self._pace.seconds / _SAMPLES)
        try:
            with self._device.clone() as connection:
                before = busy.ticks(connection)
                while True:
                    at_s = round(time.monotonic() - begin_s, 3)
                    state = thermal.sample(connection, self._cores)
                    mhz = max(state.mhz.values(), default=None)
                    self.samples.append((at_s, mhz, state.celsius))
                    if self._end.wait(pause_s):
                        self.busy = busy.shares(before, busy.ticks(connection))
                        return
        except DeviceError as error:
            self.why = error.what
