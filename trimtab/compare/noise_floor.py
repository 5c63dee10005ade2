"""The noise floor of a device: how far apart two equal binaries may seem to be.

`./inv calibrate` measures A against A and keeps what it finds for each device in a file of its own.
A floor belongs to the state that the device was in: after a restart, with another kernel, or with
other cores or another governor than it was made under it does not hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trimtab import files
from trimtab.errors import ResultError
from trimtab.results.records import Header

UNCALIBRATED = 0.01  # of a device that nobody has calibrated
_STATE = {"boot_id": "restarted", "kernel": "given another kernel"}


@dataclass(frozen=True)
class Floor:
    """What a calibration found. `share`: differences up to it are noise; `interval`: of the ratio
    of A to A that it comes from; `measured`: with which model; `date`: UTC. `governor` and `cores`
    (None: not pinned): what the device was made to do meanwhile.
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

    @property
    def control(self) -> str:
        """In words, what the device was made to do."""
        return _control(self.cores, self.governor)

    def stale(self, header: Header) -> str:
        """Why it does not hold for a run, in words; "" if it does."""
        device = header.device
        changed = [word for key, word in _STATE.items() if device.get(key) != getattr(self, key)]
        if changed:
            return f"the device was {' and '.join(changed)} since then"
        governor = header.control.get("governor")
        if (self.cores, self.governor) != (header.affinity, governor):
            return f"made for {self.control}, and this was {_control(header.affinity, governor)}"
        return ""


def _control(cores: str | None, governor: str | None) -> str:
    where = f"cores {cores}" if cores else "any cores"
    return f"{where} with the governor {governor or 'that nobody knows'}"


def path_of(device: str, folder: Path) -> Path:
    """Where the floor of a device is kept."""
    return folder / f"{device}.json"


def write(floor: Floor, folder: Path) -> Path:
    """Keeps a floor in place of the device's older one; returns the file."""
    path = path_of(floor.device, folder)
    files.write_text(path, json.dumps(asdict(floor), indent=1) + "\n", error=ResultError)
    return path


def read(device: str, folder: Path) -> Floor | None:
    """The floor of a device, None before its calibration; ResultError for a damaged file."""
    path = path_of(device, folder)
    if not path.is_file():
        return None
    try:
        return of(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(
            f"the noise floor cannot be read: {error}",
            where=str(path),
            hint=f"measure it again: ./inv calibrate {device}",
        ) from error


def of(values: Mapping[str, Any]) -> Floor:
    """From what `asdict` made; TypeError or KeyError for anything else."""
    low, high = values["interval"]
    return Floor(
        **{**values, "interval": (float(low), float(high)), "run_ids": tuple(values["run_ids"])}
    )
