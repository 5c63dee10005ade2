"""Energy as a board reports it, sampled on the device while a command runs.

Three places of Linux' sysfs report energy: powercap (RAPL, a counter that wraps around), hwmon
(counters of energy, or power, such as an INA226 at the supply) and power_supply (the current and
voltage of a battery on Android, or its counter of charge). On a Raspberry Pi 5, `vcgencmd
pmic_read_adc` tells currents and voltages of the rails behind its power management. `sampling`
wraps a command in a shell script that reads all of them until it ends. `parse` and `integrate` turn
its output into joules.

The resolution depends on the source: a counter has its own step (RAPL about 1 ms, a fuel gauge
seconds), and sampled power misses what happens between samples. A span has to be long enough; a
source with fewer than `MIN_UPDATES` changes in it is coarse. The cost of the script itself is part
of the idle baseline as well.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from trimtab.devices import facts, scripts

MIN_UPDATES = 20
PARTS = 10  # of a span, whose powers tell how steady it is
_MAX_SAMPLES = 1_000_000
_PREFIX = "trimtab-energy"


class SourceKind(StrEnum):
    """The quantity that a source reports, and its unit."""

    COUNTER = "counter"  # microjoules
    POWER = "power"  # microwatts
    BATTERY = "battery"  # microamperes and microvolts
    RAIL = "rail"  # of a supply: microamperes and microvolts
    CHARGE = "charge"  # microampere-hours and microvolts


@dataclass(frozen=True)
class EnergySample:
    """One reading.

    `second`: the range of a counter (0 if it does not wrap), or microvolts. `state`: of a battery,
    such as `Discharging`.
    """

    at_s: float
    kind: SourceKind
    source: str
    value: int
    second: int
    state: str = ""


@dataclass(frozen=True)
class EnergyReading:
    """The energy of a span of `seconds` by one source.

    `joules` is None if the source is of no use, and `why` says why. `updates`: the number of
    changes of its value. `parts`: the average power in each of `PARTS` parts of the span; empty if
    it is coarse.
    """

    source: str
    joules: float | None
    seconds: float
    updates: int
    why: str = ""
    parts: tuple[float, ...] = ()

    @property
    def watts(self) -> float | None:
        """The average power."""
        return self.joules / self.seconds if self.joules is not None else None

    @property
    def is_coarse(self) -> bool:
        """Whether the span was too short for this source."""
        return self.updates < MIN_UPDATES


def sampling(argv: Sequence[str], *, sysfs: str = facts.SYSFS, pause_s: float = 0.1) -> list[str]:
    """The command `argv` wrapped so that samples appear on its stderr; `sysfs`: of the `Device`."""
    return ["sh", "-c", scripts.read("energy"), "sh", sysfs, f"{pause_s:g}", *argv]


def parse(stderr: bytes) -> tuple[tuple[EnergySample, ...], bytes]:
    """Splits stderr into the samples and the command's own output."""
    samples: list[EnergySample] = []
    output: list[bytes] = []
    for line in stderr.splitlines(keepends=True):
        sample = _sample(line.decode(errors="replace")) if len(samples) < _MAX_SAMPLES else None
        if sample is None:
            output.append(line)
        else:
            samples.append(sample)
    return tuple(samples), b"".join(output)


def _sample(line: str) -> EnergySample | None:
    kinds = "|".join(SourceKind)
    numbers = r"(-?\d{1,18}),(\d{1,18})(?:,([\w ]{1,20}))?"
    match = re.fullmatch(
        rf"{_PREFIX} (\d{{1,12}}\.\d+) ({kinds}) ([ -~]{{1,200}})={numbers}\r?\n?", line
    )
    if match is None:
        return None
    at, kind, source, value, second, state = match.groups()
    return EnergySample(float(at), SourceKind(kind), source, int(value), int(second), state or "")


def integrate(samples: Sequence[EnergySample]) -> tuple[EnergyReading, ...]:
    """The energy between the first and the last sample of each source."""
    by_source: dict[tuple[str, SourceKind], list[EnergySample]] = {}
    for sample in samples:
        by_source.setdefault((sample.source, sample.kind), []).append(sample)
    return tuple(_parted(source, kind, group) for (source, kind), group in by_source.items())


def _parted(source: str, kind: SourceKind, samples: Sequence[EnergySample]) -> EnergyReading:
    """The reading of a source, with those of its parts."""
    whole = _reading(source, kind, samples)
    if whole.joules is None or whole.is_coarse:
        return whole
    ends = [(len(samples) - 1) * i // PARTS for i in range(PARTS + 1)]
    parts = (_reading(source, kind, samples[a : b + 1]) for a, b in itertools.pairwise(ends))
    watts = tuple(part.watts for part in parts if part.watts is not None)
    return dataclasses.replace(whole, parts=watts if len(watts) == PARTS else ())


def _reading(source: str, kind: SourceKind, samples: Sequence[EnergySample]) -> EnergyReading:
    seconds = samples[-1].at_s - samples[0].at_s
    pairs = list(itertools.pairwise(samples))
    updates = sum(a.value != b.value for a, b in pairs)
    if seconds <= 0:
        why = "the span was too short for a second sample"
        return EnergyReading(source, None, 0.0, updates, why)
    if any(sample.state not in ("", "Discharging") for sample in samples):
        return EnergyReading(source, None, seconds, updates, "the battery was not discharging")
    if not updates and kind in (SourceKind.COUNTER, SourceKind.CHARGE):
        why = f"its reading stood still for {seconds:.0f} s: measure longer, or by another source"
        return EnergyReading(source, None, seconds, updates, why)
    joules: float | None
    match kind:
        case SourceKind.COUNTER:
            steps = [_step(a, b) for a, b in pairs]
            valid = [step for step in steps if step is not None]
            if len(valid) != len(steps):
                return EnergyReading(source, None, seconds, updates, "the counter went backwards")
            joules = sum(valid) / 1e6
        case SourceKind.POWER:
            joules = sum((a.value + b.value) / 2 * (b.at_s - a.at_s) for a, b in pairs) / 1e6
        case SourceKind.RAIL:
            joules = sum(
                (a.value * a.second + b.value * b.second) / 2e12 * (b.at_s - a.at_s)
                for a, b in pairs
            )
        case SourceKind.BATTERY:  # some drivers give a discharging current a negative sign
            joules = sum((_watts(a) + _watts(b)) / 2 * (b.at_s - a.at_s) for a, b in pairs)
        case SourceKind.CHARGE:  # coulombs are ampere-seconds
            joules = sum(
                (a.value - b.value) * 3.6e-3 * (a.second + b.second) / 2 / 1e6 for a, b in pairs
            )
    return EnergyReading(source, joules, seconds, updates)


def _step(a: EnergySample, b: EnergySample) -> int | None:
    """Microjoules between two readings of a counter that wrapped around at most once."""
    if b.value >= a.value:
        return b.value - a.value
    return b.value + a.second - a.value if a.second else None


def _watts(sample: EnergySample) -> float:
    return abs(sample.value) * 1e-6 * sample.second * 1e-6
