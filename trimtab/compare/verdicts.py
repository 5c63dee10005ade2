"""The verdict of an A/B comparison: whether arm B is faster or slower than arm A.

Everything follows from the two run records: each launch names its block, and each header names its
comparison and the noise floor at that time. Once both runs are complete, the comparison gets its
own JSON file, `*.comparison.json`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab import files, strict_json
from trimtab.compare import noise_floor, paired
from trimtab.compare.noise_floor import NoiseFloor
from trimtab.compare.paired import MIN_LAUNCHES, Effect
from trimtab.errors import ResultError
from trimtab.paths import PROGRAM
from trimtab.results import disconnects, variation
from trimtab.results.records import WRONG, Header, Record
from trimtab.results.statistics import Interval

FORMAT = 1
SUFFIX = ".comparison.json"
ARM = "arm"  # the key of a record's protocol that names its arm
_FORMER_ARM = "side"  # the same key in records of earlier versions


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison.

    `ratio` is B to A, of latencies, or of executed `instructions` under an emulator, which are
    exact. Differences up to `floor` are noise of the device. `launches` is per arm. `told_share` is
    the smallest difference that these launches can detect; `more_launches` per arm would be needed
    to detect one of `aim_share`.
    """

    id: str
    unit: str
    ratio: float
    interval: Interval
    is_real: bool
    launches: int
    blocks: int
    floor: float
    told_share: float
    aim_share: float
    more_launches: int
    notes: tuple[str, ...]

    def __str__(self) -> str:
        """The verdict as a sentence."""
        if self.unit == "instructions":
            if self.is_real:
                return f"{self._factor('instructions')}, exactly"
            return "B executes as many instructions as A, exactly"
        if self.is_real:
            return f"{self._factor('time')} ({self._bounds()}): a real difference"
        return f"no significant difference: {self.ratio:.4f}x ({self._bounds()})"

    def _factor(self, quantity: str) -> str:
        return f"B takes {self.ratio:.4f} times the {quantity} of A"

    def _bounds(self) -> str:
        return f"{self.interval.low:.4f} .. {self.interval.high:.4f}"


def belong_together(records: Sequence[Record]) -> bool:
    """Whether these are two arms of one comparison, in alphabetical order."""
    if len(records) != 2:
        return False
    roles = [record.header.protocol for record in records]
    ids = [role.get("comparison") for role in roles]
    return bool(ids[0]) and ids[0] == ids[1] and _arm(roles[0]) < _arm(roles[1])


def _arm(role: Mapping[str, Any]) -> str:
    return str(role.get(ARM) or role.get(_FORMER_ARM, ""))


def judge(a: Record, b: Record) -> Verdict:
    """The verdict on two arms of one comparison. Raises ResultError if launches are missing."""
    try:
        return _by_counts(a, b) if a.header.is_emulated else _by_times(a, b)
    except WRONG as error:
        raise _incomplete(b, error) from error


def effect(
    a: Record, b: Record, kind: str, indices: tuple[int, int] | tuple[None, None] = (None, None)
) -> Effect:
    """The ratio of other times of a comparison, such as `load`; errors as in `judge`.

    `indices` selects the events of one operator: its index in A and in B.
    """
    try:
        is_duet = bool(a.header.protocol["is_duet"])
        times_a, times_b = (_blocks(r, kind, i) for r, i in zip((a, b), indices, strict=True))
        return paired.effect(times_a, times_b, is_duet=is_duet)
    except WRONG as error:
        raise _incomplete(b, error) from error


def _incomplete(record: Record, error: Exception) -> ResultError:
    return ResultError(
        f"the comparison is incomplete: {error}",
        where=str(record.path),
        hint="measure again: bench.ab",
    )


def _by_counts(a: Record, b: Record) -> Verdict:
    counts = [[run["instructions"] for run in record.of("run")] for record in (a, b)]
    if any(None in arm or len(set(arm)) != 1 for arm in counts):
        raise ValueError("the emulator counted no instructions, or its counts vary")
    ratio = counts[1][0] / counts[0][0]
    return Verdict(
        id=str(a.header.protocol["comparison"]),
        unit="instructions",
        ratio=ratio,
        interval=Interval(ratio, ratio),
        is_real=ratio != 1,
        launches=len(a.launches()),
        blocks=0,
        floor=0,
        told_share=0,
        aim_share=0,
        more_launches=0,
        notes=disconnects.notes([a, b]),
    )


def _by_times(a: Record, b: Record) -> Verdict:
    role = a.header.protocol
    ratio = effect(a, b, "run")
    floor = noise_floor.from_json(role["floor"]) if role.get("floor") else None
    floor_share, floor_note = _applied_floor(floor, a.header, is_duet=bool(role["is_duet"]))
    launches = len(a.launches())
    is_real = launches >= MIN_LAUNCHES and ratio.exceeds(floor_share)
    aim = max(floor_share, abs(ratio.value - 1), 0.01)
    more = max(ratio.launches_to_detect(aim), MIN_LAUNCHES - launches)
    notes = [floor_note]
    if not is_real:
        notes.insert(0, _reason(ratio, launches, floor_share, aim, more))
    notes += [*disconnects.notes([a, b]), *_drifts(a, b)]
    return Verdict(
        id=str(role["comparison"]),
        unit="ns",
        ratio=ratio.value,
        interval=ratio.interval,
        is_real=is_real,
        launches=launches,
        blocks=ratio.blocks,
        floor=floor_share,
        told_share=max(floor_share, ratio.interval.high / ratio.value - 1),
        aim_share=aim,
        more_launches=more,
        notes=tuple(notes),
    )


def _reason(ratio: Effect, launches: int, floor_share: float, aim: float, more: int) -> str:
    """Why a difference is not called real."""
    prefix = ""
    if launches < MIN_LAUNCHES:
        prefix = f"A difference is called real only with at least {MIN_LAUNCHES} launches per arm. "
    elif not ratio.interval.low <= 1 <= ratio.interval.high:
        return f"The difference is within the device's noise floor of {floor_share:.2%}."
    if more >= paired.MAX_LAUNCHES:
        return f"{prefix}The machine is too noisy: a thousand more launches would not suffice."
    if more:
        return f"{prefix}About {more} more launches per arm would detect {aim:.1%}."
    return f"A difference of {aim:.1%} would have been detected."


def _applied_floor(floor: NoiseFloor | None, header: Header, *, is_duet: bool) -> tuple[float, str]:
    """The noise floor that applies to a run, as a share, and a sentence about it."""
    calibrate = f"{PROGRAM} calibrate {header.device.name}"
    if floor is None:
        note = f"The noise floor is unknown, {noise_floor.UNCALIBRATED:.0%} is assumed: {calibrate}"
        return noise_floor.UNCALIBRATED, note
    note = f"Noise floor {floor.share:.2%}, of {floor.date[:10]}"
    if floor.is_duet != is_duet:
        mode = "as a duet" if floor.is_duet else "in interleaved rounds"
        note += f", measured {mode}: {calibrate}{' --duet' * is_duet}"
    elif reason := floor.stale(header):
        note += f", invalid: {reason}; {calibrate}, with the same --cores, --governor and --threads"
    else:
        return floor.share, note
    return max(floor.share, noise_floor.UNCALIBRATED), note


def _drifts(a: Record, b: Record) -> list[str]:
    notes = []
    for name, record in (("A", a), ("B", b)):
        drift = variation.drift([_times(launch, "run") for launch in record.launches()])
        if text := str(drift):
            notes.append(f"{name}: {text}")
    return notes


def _blocks(record: Record, kind: str, index: int | None) -> list[list[float]]:
    """The typical time of each launch, by block."""
    blocks: dict[int, list[float]] = {}
    for launch in record.launches():
        times = _times(launch, kind, index)
        blocks.setdefault(launch[0]["block"], []).append(variation.typical(times))
    is_whole = all(len(times) == paired.LAUNCHES_PER_BLOCK for times in blocks.values())
    if not is_whole or len(blocks) < 2 or min(min(times) for times in blocks.values()) <= 0:
        raise ValueError("a block lacks launches, or a time is 0")
    return [blocks[block] for block in sorted(blocks)]


def _times(launch: Sequence[Mapping[str, Any]], kind: str, index: int | None = None) -> list[int]:
    events = (event for event in launch if event["event"] == kind)
    return [event["ns"] for event in events if index in (None, event.get("index"))]


def write(verdict: Verdict, a: Record, b: Record, folder: Path) -> Path:
    """Writes the file of a comparison beside its runs. Raises ResultError if that fails."""
    header = a.header
    stem = a.path.name.partition("-")[0]
    path = folder / f"{stem}-{header.device.name}-{verdict.id}{SUFFIX}"
    content = {
        "format": FORMAT,
        "time": header.time,
        "device": dataclasses.asdict(header.device),
        "runs": {
            name: {"run_id": record.header.run_id, "file": record.path.name}
            for name, record in (("a", a), ("b", b))
        },
        "seed": header.protocol["seed"],
        "is_duet": header.protocol["is_duet"],
        "floor": header.protocol["floor"],
        "verdict": as_json(verdict),
    }
    files.write_text(path, strict_json.dumps(content, indent=1) + "\n", error=ResultError)
    return path


def as_json(verdict: Verdict) -> dict[str, Any]:
    """JSON values of a verdict: `interval` is [low, high], `note` the sentence for people."""
    values = dataclasses.asdict(verdict)
    values["interval"] = [verdict.interval.low, verdict.interval.high]
    return {**values, "confidence": paired.CONFIDENCE, "note": str(verdict)}
