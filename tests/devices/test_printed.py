"""Output of devices, read as numbers and words within limits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trimtab.devices import facts, printed
from trimtab.devices.control import sysfs, topology
from trimtab.devices.local import LocalDevice
from trimtab.devices.process import Source
from trimtab.devices.protocol import CommandResult, Transcript
from trimtab.errors import DeviceOutputError

LONG = "1" * 5000  # `int` refuses it


@pytest.mark.parametrize("text", ["", "x", "1.5", "1e3", "+1", " 1", "1_0", "٣", LONG, "-"])
def test_what_is_no_number_within_18_digits_is_none(text: str) -> None:
    assert printed.number(text) is None


def test_numbers_are_read_down_to_the_least() -> None:
    assert printed.number("-5") == -5
    assert printed.number("-5", 0) is None
    assert printed.number("9" * 18, 0) == 10**18 - 1


def test_facts_are_the_first_of_each_known_key_and_cut() -> None:
    lines = ["a=1", "a=2", "b", "c=3", "b=" + "x" * 9]
    assert printed.facts(lines, ("a", "b"), most=4) == {"a": "1", "b": "xxxx"}


def test_hostile_facts_are_left_out() -> None:
    text = f"khz={LONG}\nMemTotal: {LONG} kB\nzone=cpu {LONG}\nCPU part : x\nCPU implementer : y\n"
    info = facts.parse(text)
    assert info.frequencies_mhz == ()
    assert info.memory_bytes is None
    assert info.temperature_celsius is None


@pytest.mark.parametrize("online", ["x", "1-", "-1", "0-999999999999", LONG, "5-1-2", "³"])
def test_a_hostile_list_of_cores_is_no_list(online: str) -> None:
    tree = sysfs.parse(
        f"Cpus_allowed_list:{online}\ndevices/system/cpu/online:{online}\n"
        f"devices/system/cpu/cpu{LONG}/cpu_capacity:5\ndevices/system/cpu/cpu1/cpu_capacity:9\n"
    )
    assert topology.parse(tree).cores == (1,)


class Claiming(LocalDevice):
    """This machine as a device whose `wc` prints something else."""

    claim = b""

    def _execute(
        self,
        script: str,
        *,
        timeout_s: float,
        stdin: Source | None = None,
        transcript: Transcript | None = None,
    ) -> CommandResult:
        if re.match("wc ", script):
            (transcript or Transcript()).wrote(self.claim)
            return CommandResult(0, None, self.claim, b"")
        return super()._execute(script, timeout_s=timeout_s, stdin=stdin, transcript=transcript)


@pytest.mark.device
@pytest.mark.parametrize("claim", [b"", b"many\n", b"-1\n", b"9" * 30, b"101\n", LONG.encode()])
def test_a_size_that_cannot_be_is_an_error_and_reads_nothing(claim: bytes, tmp_path: Path) -> None:
    device = Claiming("here", str(tmp_path / "directory"))
    device.claim = claim
    with device, device.scratch() as scratch, pytest.raises(DeviceOutputError):
        device.pull(f"{scratch}/x", tmp_path / "x", limit_bytes=100)
    assert not (tmp_path / "x").exists()
