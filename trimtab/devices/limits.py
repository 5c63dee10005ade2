"""Time limits of a device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TimeLimits:
    """How long a device may take, in seconds.

    `housekeeping_s`: for a command such as `mkdir` on a board that is busy or slow to page;
    `connect_s`: until adb has a connection; `reconnect_s`: for a reboot, or a cable that is plugged
    in again; `kill_s`: until the end of a killed command is known.
    `lease_s`: the life of a lease after its last renewal, in which a swapping board answers;
    `renew_s`: between two renewals; `race_s`: before a lease is claimed again that somebody else
    was about to take; `watch_s`: between two checks of the watchdog, a whole number, as the `sleep`
    of some boards takes no other.
    """

    housekeeping_s: float = 60.0
    connect_s: float = 10.0
    reconnect_s: float = 60.0
    kill_s: float = 10.0
    lease_s: int = 30
    renew_s: float = 8.0
    race_s: float = 0.05
    watch_s: float = 2  # not 2.0


USUAL = TimeLimits()
"""The limits of real boards."""
