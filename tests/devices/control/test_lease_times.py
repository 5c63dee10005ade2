"""The times of a lease on this side: renewals, waiting for a holder, and the end without a link."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from trimtab.devices.control import lease
from trimtab.devices.control.lease import Lease
from trimtab.devices.limits import USUAL
from trimtab.errors import DeviceBusyError, DeviceUnreachableError


class Clock:
    """A clock that only sleeping and the device move."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Device:
    """A device that answers each command with a text after `takes_s` seconds of the clock."""

    name, sysfs, lease_folder = "board", "/sys", "/tmp/lease"
    limits = USUAL

    def __init__(self, clock: Clock, answer: str, takes_s: float = 0.0) -> None:
        self.clock, self.answer, self.takes_s = clock, answer, takes_s
        self.asked: list[float] = []
        self.scripts: list[str] = []

    def shell(self, script: str, purpose: str, limit_bytes: int = 0) -> str:
        self.asked.append(self.clock.now)
        self.scripts.append(script.partition("\n")[0])
        self.clock.now += self.takes_s
        return self.answer


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    own = Clock()
    fake = SimpleNamespace(monotonic=own.monotonic, sleep=own.sleep, time_ns=lambda: 1)
    monkeypatch.setattr(lease, "time", fake)
    return own


@pytest.fixture
def kept_lease(clock: Clock) -> Iterator[tuple[Clock, Any, Lease]]:
    """A lease whose thread renews nothing."""
    device: Any = Device(clock, "renewed\n")
    own = Lease(device, 3, "/tmp/lease", "")
    yield clock, device, own
    own.release()


HELD = (
    "held 7 100 {until}\nowner=eve@elsewhere\npurpose=bench\npid=7\nmachine=elsewhere 1\nsince=90\n"
)


def test_a_lease_outlives_two_renewals_that_are_lost_and_a_check_of_the_watchdog() -> None:
    limits = USUAL
    assert 3 * limits.renew_s + limits.watch_s < limits.lease_s
    assert limits.renew_s >= 5, "a board has other work"


@pytest.mark.parametrize("takes_s", [0.0, 20.0])
def test_a_lease_ends_its_seconds_after_the_last_renewal_was_asked_for(
    kept_lease: tuple[Clock, Any, Lease], takes_s: float
) -> None:
    """The device counts from the question at the earliest; the answer may come much later."""
    clock, device, own = kept_lease
    own.confirm()
    begin_s, device.takes_s = clock.now, takes_s
    own.confirm()
    clock.now = begin_s + device.limits.lease_s
    own.check()
    clock.now += 0.1
    with pytest.raises(DeviceUnreachableError, match="could not be renewed for 30 s"):
        own.check()
    assert f"/tmp/lease renew 3 {device.limits.lease_s}" in device.scripts[-1]


def test_a_lease_that_another_took_is_gone_at_once(
    kept_lease: tuple[Clock, Any, Lease],
) -> None:
    _, device, own = kept_lease
    device.answer = HELD.format(until=130)
    with pytest.raises(DeviceBusyError, match=r"taken by eve@elsewhere \(bench, process 7\)"):
        own.confirm()
    device.answer = "renewed\n"
    with pytest.raises(DeviceBusyError):
        own.check()


@pytest.mark.parametrize("wait_s", [0, 1, 4])
def test_a_holder_is_waited_for_as_long_as_was_asked_and_asked_each_second(
    clock: Clock, wait_s: int
) -> None:
    device: Any = Device(clock, HELD.format(until=130))
    noted: list[str] = []
    with pytest.raises(DeviceBusyError, match="leased by eve@elsewhere"):
        lease.acquire(device, "test", wait_s=wait_s, note=noted.append)
    assert [now - 1000 for now in device.asked] == [float(i) for i in range(wait_s + 1)]
    assert len(noted) == min(wait_s, 1)


def test_the_times_of_a_holder_are_told_on_this_machines_clock() -> None:
    holder = lease.holder_of(HELD.format(until=130).splitlines())
    assert holder is not None
    assert (holder.until - holder.since).total_seconds() == 40
    assert 28 <= (holder.until - holder.since.now().astimezone()).total_seconds() <= 30
