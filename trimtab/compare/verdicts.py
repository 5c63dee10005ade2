"""What two runs that were measured in turns say of each other, and the record of that.

Everything follows from the two records: each launch says in which block it was, each header which
comparison it belongs to and which floor held. A comparison has a record of its own beside them, one
JSON file `*.comparison.json`, written when both are complete.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab import files
from trimtab.compare import noise_floor as floors
from trimtab.compare import paired
from trimtab.compare.noise_floor import Floor
from trimtab.compare.paired import MIN_LAUNCHES, Effect
from trimtab.errors import ResultError
from trimtab.results import disconnects, variation
from trimtab.results.records import Header, Record
from trimtab.results.statistics import Interval

FORMAT = 1
SUFFIX = ".comparison.json"


@dataclass(frozen=True)
class Verdict:
    """What a comparison found. `ratio`: of B to A, of times, or of executed `instructions` under an
    emulator, which are exact. `floor`: differences up to it are noise of the device. `launches`:
    of each side. `told_share`: the least difference that they tell; `more_launches` of each side
    would tell one of `aim_share`.
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
        """In a sentence."""
        what = "instructions" if self.unit == "instructions" else "time"
        if self.unit == "instructions":
            same = "B executes as many instructions as A, exactly"
            return f"{self._amount(what)}, exactly" if self.is_real else same
        if self.is_real:
            return f"{self._amount(what)} ({self._bounds()}): a real difference"
        return f"not told apart: {self.ratio:.4f}x ({self._bounds()})"

    def _amount(self, what: str) -> str:
        return f"B takes {self.ratio:.4f} times the {what} of A"

    def _bounds(self) -> str:
        return f"{self.interval.low:.4f} .. {self.interval.high:.4f}"


def belong_together(records: Sequence[Record]) -> bool:
    """Whether these are two sides of one comparison, in the order of the alphabet."""
    if len(records) != 2:
        return False
    roles = [record.header.protocol for record in records]
    ids = [role.get("comparison") for role in roles]
    return bool(ids[0]) and ids[0] == ids[1] and roles[0]["side"] < roles[1]["side"]


def judge(a: Record, b: Record) -> Verdict:
    """What the sides of one comparison say; ResultError when they are not its whole launches."""
    try:
        return _counted(a, b) if a.header.is_emulated else _timed(a, b)
    except (KeyError, ValueError, IndexError) as error:
        raise _not_whole(b, error) from error


def effect(
    a: Record, b: Record, kind: str, indices: tuple[int, int] | tuple[None, None] = (None, None)
) -> Effect:
    """The ratio of other times of a comparison, such as `load`, or of those events of each side
    that have an index, such as an operator; errors as `judge`.
    """
    try:
        is_duet = bool(a.header.protocol["is_duet"])
        of_a, of_b = (_blocks(r, kind, i) for r, i in zip((a, b), indices, strict=True))
        return paired.effect(of_a, of_b, is_duet=is_duet)
    except (KeyError, ValueError, IndexError) as error:
        raise _not_whole(b, error) from error


def _not_whole(record: Record, error: Exception) -> ResultError:
    return ResultError(
        f"not a whole comparison: {error}", where=str(record.path), hint="measure again: bench.ab"
    )


def _counted(a: Record, b: Record) -> Verdict:
    counts = [[run["instructions"] for run in record.of("run")] for record in (a, b)]
    if any(None in side or len(set(side)) != 1 for side in counts):
        raise ValueError("the emulator did not count, or its counts vary")
    ratio = counts[1][0] / counts[0][0]
    exact = Interval(ratio, ratio)
    comparison = str(a.header.protocol["comparison"])
    count = len(a.launches())
    notes = disconnects.of_records([a, b])
    return Verdict(
        comparison, "instructions", ratio, exact, ratio != 1, count, 0, 0, 0, 0, 0, notes
    )


def _timed(a: Record, b: Record) -> Verdict:
    role = a.header.protocol
    found = effect(a, b, "run")
    known = floors.of(role["floor"]) if role.get("floor") else None
    share, said = _floor_of(known, a.header, is_duet=bool(role["is_duet"]))
    count = len(a.launches())
    is_real = count >= MIN_LAUNCHES and found.exceeds(share)
    told = max(share, found.interval.high / found.value - 1)
    aim = max(share, abs(found.value - 1), 0.01)
    more = max(found.launches_to_tell(aim), MIN_LAUNCHES - count)
    notes = [said]
    if not is_real:
        notes.insert(0, _why_not(found, count, share, aim, more))
    notes += [*disconnects.of_records([a, b]), *_drifts(a, b)]
    comparison = str(role["comparison"])
    return Verdict(
        comparison,
        "ns",
        found.value,
        found.interval,
        is_real,
        count,
        found.blocks,
        share,
        told,
        aim,
        more,
        tuple(notes),
    )


def _why_not(found: Effect, count: int, share: float, aim: float, more: int) -> str:
    few = ""
    if count < MIN_LAUNCHES:
        few = f"No difference is called real with fewer than {MIN_LAUNCHES} launches a side. "
    elif not found.interval.low <= 1 <= found.interval.high:
        return f"The difference is within the device's noise floor of {share:.2%}."
    if more >= paired.MOST_LAUNCHES:
        return f"{few}The machine is too noisy: a thousand launches more would not do."
    if more:
        return f"{few}About {more} launches a side more would tell {aim:.1%}."
    return f"A difference of {aim:.1%} would have been told."


def _floor_of(known: Floor | None, header: Header, *, is_duet: bool) -> tuple[float, str]:
    """The floor that holds, and a sentence about it."""
    calibrate = f"./inv calibrate {header.device['name']}"
    if known is None:
        said = f"The noise floor is not known, {floors.UNCALIBRATED:.0%} is assumed: {calibrate}"
        return floors.UNCALIBRATED, said
    said = f"Noise floor {known.share:.2%}, of {known.date[:10]}"
    if known.is_duet != is_duet:
        other = "one beside the other" if known.is_duet else "in turns"
        said += f", measured {other}: {calibrate}{' --duet' * is_duet}"
    elif why := known.stale(header):
        said += f", does not hold: {why}; {calibrate}, with the same --cores and --governor"
    else:
        return known.share, said
    return max(known.share, floors.UNCALIBRATED), said


def _drifts(a: Record, b: Record) -> list[str]:
    found = []
    for side, record in (("A", a), ("B", b)):
        drift = variation.drift([_times(launch, "run") for launch in record.launches()])
        if said := str(drift):
            found.append(f"{side}: {said}")
    return found


def _blocks(record: Record, kind: str, index: int | None) -> list[list[float]]:
    """The typical times of the launches of each block, in the order of blocks."""
    blocks: dict[int, list[float]] = {}
    for launch in record.launches():
        times = _times(launch, kind, index)
        blocks.setdefault(launch[0]["block"], []).append(variation.typical(times))
    wrong = [b for b, times in blocks.items() if len(times) != paired.LAUNCHES_PER_BLOCK]
    if wrong or len(blocks) < 2 or min(min(times) for times in blocks.values()) <= 0:
        raise ValueError("blocks lack launches, or a time is 0")
    return [blocks[block] for block in sorted(blocks)]


def _times(launch: Sequence[Mapping[str, Any]], kind: str, index: int | None = None) -> list[int]:
    events = (event for event in launch if event["event"] == kind)
    return [event["ns"] for event in events if index in (None, event.get("index"))]


def write(verdict: Verdict, a: Record, b: Record, folder: Path) -> Path:
    """Writes the record of a comparison beside its runs; ResultError when that is refused."""
    header = a.header
    stem = a.path.name.partition("-")[0]
    path = folder / f"{stem}-{header.device['name']}-{verdict.id}{SUFFIX}"
    content = {
        "format": FORMAT,
        "time": header.time,
        "device": header.device,
        "runs": {
            side: {"run_id": record.header.run_id, "file": record.path.name}
            for side, record in (("a", a), ("b", b))
        },
        "seed": header.protocol["seed"],
        "is_duet": header.protocol["is_duet"],
        "floor": header.protocol["floor"],
        "verdict": as_json(verdict),
    }
    files.write_text(path, json.dumps(content, indent=1) + "\n", error=ResultError)
    return path


def as_json(verdict: Verdict) -> dict[str, Any]:
    """For a program: `interval` as [low, high], and the sentence that people get."""
    values = dataclasses.asdict(verdict)
    values["interval"] = [verdict.interval.low, verdict.interval.high]
    return {**values, "confidence": paired.CONFIDENCE, "note": str(verdict)}
