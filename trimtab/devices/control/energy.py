"""Energy, where a board tells it: sampled on the device while a command runs.

Three places of Linux' sysfs tell: powercap (RAPL: a counter of energy that wraps around), hwmon
(counters of energy, or power, as of an INA226 beside the supply) and power_supply (a battery's
current and voltage, on Android, or its counter of charge). `sampling` wraps a command in a shell
script that reads all of them until it ends; `parse` and `spent` make joules of what it wrote.

How exact that is depends on the source. A counter is as fine as its steps (RAPL about 1 ms, a fuel
gauge seconds); power that is sampled tells nothing of what happens between samples. So a span has
to be long, and a source that changed less than `MIN_UPDATES` times in it is called coarse. What the
script itself takes is in the idle baseline as well.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from trimtab.devices import facts, scripts

MIN_UPDATES = 20
_MAX_SAMPLES = 1_000_000
_PREFIX = "trimtab-energy"


class Kind(StrEnum):
    """What a source tells, and in which unit."""

    COUNTER = "counter"  # microjoules
    POWER = "power"  # microwatts
    BATTERY = "battery"  # microamperes and microvolts
    CHARGE = "charge"  # microampere-hours and microvolts


@dataclass(frozen=True)
class Sample:
    """One reading. `second`: the range of a counter (0: it does not wrap), or microvolts. `state`:
    of a battery, as `Discharging`.
    """

    at_s: float
    kind: Kind
    source: str
    value: int
    second: int
    state: str = ""


@dataclass(frozen=True)
class Spent:
    """What a source says of a span of `seconds`.

    `joules` is None where it says nothing of use, and `why` tells why. `updates`: how often its
    value changed.
    """

    source: str
    joules: float | None
    seconds: float
    updates: int
    why: str = ""

    @property
    def watts(self) -> float | None:
        """On average."""
        return self.joules / self.seconds if self.joules is not None else None

    @property
    def is_coarse(self) -> bool:
        """Whether the span was too short for this source."""
        return self.updates < MIN_UPDATES


def sampling(argv: Sequence[str], *, sysfs: str = facts.SYSFS, pause_s: float = 0.1) -> list[str]:
    """The command `argv`, with samples on its stderr; `sysfs`: of the `Device`."""
    return ["sh", "-c", scripts.read("energy"), "sh", sysfs, f"{pause_s:g}", *argv]


def parse(stderr: bytes) -> tuple[tuple[Sample, ...], bytes]:
    """The samples, and what else was written. A line that is no sample is taken as written by the
    command.
    """
    samples: list[Sample] = []
    rest: list[bytes] = []
    for line in stderr.splitlines(keepends=True):
        sample = _sample(line.decode(errors="replace")) if len(samples) < _MAX_SAMPLES else None
        if sample is None:
            rest.append(line)
        else:
            samples.append(sample)
    return tuple(samples), b"".join(rest)


def _sample(line: str) -> Sample | None:
    numbers = r"(-?\d{1,18}),(\d{1,18})(?:,([\w ]{1,20}))?"
    found = re.fullmatch(
        rf"{_PREFIX} (\d{{1,12}}\.\d+) ({'|'.join(Kind)}) ([ -~]{{1,200}})={numbers}\r?\n?", line
    )
    if found is None:
        return None
    at, kind, source, value, second, state = found.groups()
    return Sample(float(at), Kind(kind), source, int(value), int(second), state or "")


def spent(samples: Sequence[Sample]) -> tuple[Spent, ...]:
    """What each source says of the span from its first sample to its last."""
    by_source: dict[tuple[str, Kind], list[Sample]] = {}
    for sample in samples:
        by_source.setdefault((sample.source, sample.kind), []).append(sample)
    return tuple(_spent(source, kind, found) for (source, kind), found in by_source.items())


def _spent(source: str, kind: Kind, samples: Sequence[Sample]) -> Spent:
    seconds = samples[-1].at_s - samples[0].at_s
    pairs = list(itertools.pairwise(samples))
    updates = sum(a.value != b.value for a, b in pairs)
    if seconds <= 0:
        return Spent(source, None, 0.0, updates, "the span was too short for a second sample")
    if any(sample.state not in ("", "Discharging") for sample in samples):
        return Spent(source, None, seconds, updates, "the battery was not discharging")
    joules: float | None
    match kind:
        case Kind.COUNTER:
            steps = [_step(a, b) for a, b in pairs]
            known = [step for step in steps if step is not None]
            if len(known) != len(steps):
                return Spent(source, None, seconds, updates, "the counter went backwards")
            joules = sum(known) / 1e6
        case Kind.POWER:
            joules = sum((a.value + b.value) / 2 * (b.at_s - a.at_s) for a, b in pairs) / 1e6
        case Kind.BATTERY:  # some drivers give a current that is drawn a negative sign
            joules = sum((_watts(a) + _watts(b)) / 2 * (b.at_s - a.at_s) for a, b in pairs)
        case Kind.CHARGE:  # coulombs are ampere-seconds
            joules = sum(
                (a.value - b.value) * 3.6e-3 * (a.second + b.second) / 2 / 1e6 for a, b in pairs
            )
    return Spent(source, joules, seconds, updates)


def _step(a: Sample, b: Sample) -> int | None:
    """Microjoules between two readings of a counter that wrapped around once at most."""
    if b.value >= a.value:
        return b.value - a.value
    return b.value + a.second - a.value if a.second else None


def _watts(sample: Sample) -> float:
    return abs(sample.value) * 1e-6 * sample.second * 1e-6
