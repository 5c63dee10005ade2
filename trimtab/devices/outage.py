"""The wait for a device whose link broke: one time limit for all commands of one outage."""

from __future__ import annotations

import time

from trimtab.errors import DeviceUnreachableError

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 8.0


class Outage:
    """The attempts to reconnect, with growing pauses, until a time limit.

    Later commands, such as those that clean up, make one attempt each, and fail at once for as long
    as the last attempt took.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._ends_at = time.monotonic() + limit_s
        self._pause_s = FIRST_PAUSE_S
        self._attempted_at = self._took_s = 0.0
        self._error: DeviceUnreachableError | None = None

    def begin(self) -> None:
        """Notes the begin of an attempt. Raises the final error if it was raised just before."""
        now = time.monotonic()
        if self._error is not None and now < self._attempted_at + self._took_s:
            raise self._error
        self._attempted_at = now

    def wait(self, error: DeviceUnreachableError) -> None:
        """Waits after an attempt that failed. Raises the final error if the next would be late."""
        now = time.monotonic()
        self._took_s, self._attempted_at = now - self._attempted_at, now
        if now + self._pause_s + self._took_s > self._ends_at:
            self._error = DeviceUnreachableError(
                f"the device did not come back within {self._limit_s:g} s: {error.what}",
                where=error.where,
                hint=error.hint,
            )
            self._error.is_final = True
            raise self._error from error
        time.sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
