"""The noise floor of a device: the largest difference that two identical binaries may show.

`./inv calibrate` measures an arm against itself, and stores one file per device. A floor holds for
one state of the device: a restart, another kernel, other cores or another governor invalidate it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trimtab import files, strict_json
from trimtab.errors import ResultError
from trimtab.paths import PROGRAM
from trimtab.results.records import Header

UNCALIBRATED = 0.01  # the floor to assume for a device without calibration
_STATE = {"boot_id": "was restarted", "kernel": "got another kernel"}


@dataclass(frozen=True)
class NoiseFloor:
    """The result of a calibration.

    Differences up to `share` are noise. `interval` is that of the ratio of A to A, which `share`
    comes from. `measured` is the model, `date` is UTC. `governor` and `cores` (None: not pinned)
    are the device's settings during the calibration. `threads`: None in files from before this
    field.
    """

    device: str
    share: float
    ratio: float
    interval: tuple[float, float]
    launches: int
    is_duet: bool
    measured: str
    date: str
    boot_id: str | None
    kernel: str
    governor: str | None
    run_ids: tuple[str, ...]
    cores: str | None = None
    threads: int | None = None

    @property
    def control(self) -> str:
        """The device's settings in words."""
        return _control(self.cores, self.governor)

    def stale(self, header: Header) -> str:
        """The reason why the floor does not hold for a run; "" if it holds."""
        device = header.device
        changes = [
            text for key, text in _STATE.items() if getattr(device, key) != getattr(self, key)
        ]
        if changes:
            return f"since then the device {' and '.join(changes)}"
        governor = header.control.get("governor")
        if (self.cores, self.governor) != (header.affinity, governor):
            return (
                f"calibrated for {self.control}, the run used {_control(header.affinity, governor)}"
            )
        threads = int(header.protocol.get("threads", 1))
        if self.threads is not None and self.threads != threads:
            return f"calibrated with threads: {self.threads}, the run used {threads}"
        return ""


def _control(cores: str | None, governor: str | None) -> str:
    where = f"cores {cores}" if cores else "any cores"
    return f"{where} with {f'the governor {governor}' if governor else 'an unknown governor'}"


def path_of(device: str, folder: Path) -> Path:
    """The file that stores the floor of a device."""
    return folder / f"{device}.json"


def write(floor: NoiseFloor, folder: Path) -> Path:
    """Stores a floor in place of the device's previous one, and returns the file."""
    path = path_of(floor.device, folder)
    files.write_text(path, strict_json.dumps(asdict(floor), indent=1) + "\n", error=ResultError)
    return path


def read(device: str, folder: Path) -> NoiseFloor | None:
    """The floor of a device, None before calibration. Raises ResultError for a damaged file."""
    path = path_of(device, folder)
    if not path.is_file():
        return None
    try:
        return from_json(strict_json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(
            f"the noise floor cannot be read: {error}",
            where=str(path),
            hint=f"measure it again: {PROGRAM} calibrate {device}",
        ) from error


def from_json(values: Mapping[str, Any]) -> NoiseFloor:
    """A floor from the values of `asdict`. Raises TypeError or KeyError for anything else."""
    low, high = values["interval"]
    return NoiseFloor(
        **{**values, "interval": (float(low), float(high)), "run_ids": tuple(values["run_ids"])}
    )
