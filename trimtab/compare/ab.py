"""Two sides measured in turns on one device, and the noise floor of a device from A against A."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from trimtab import paths
from trimtab.bench import protocol
from trimtab.bench.jobs import Job, Schedule, Settings, Turn
from trimtab.compare import noise_floor as floors
from trimtab.compare import paired, verdicts
from trimtab.compare.arms import Ready, Side, check, ready
from trimtab.compare.noise_floor import Floor
from trimtab.compare.verdicts import Verdict
from trimtab.devices import Device, DeviceInfo, find_device
from trimtab.devices.control import sysfs, topology
from trimtab.errors import DeviceError, UsageError
from trimtab.progress import SILENT, Progress
from trimtab.results import records
from trimtab.results.records import Record

LAUNCHES = 20  # of each side
FLOOR_LAUNCHES = 40
LAUNCH_MS = 250  # of steady state
LAUNCH_RUNS = 5
FLOOR_MODEL = "shufflenet_v2"


@dataclass(frozen=True)
class AbRequest:
    """What to compare, and where. `launches`: of each side. `seed`: of the order, None for a new
    one. `settings`: of each launch, so that its own `launches` is left out; `runs` and
    `min_time_ms` None take what suits a launch.
    """

    a: Side
    b: Side
    device: str = "local"
    launches: int = LAUNCHES
    duet: bool = False
    seed: int | None = None
    trust_new: bool = False
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        """Raises UsageError for fewer launches than two blocks have, or more than anybody waits
        for, and a seed below 0.
        """
        least, most = 2 * paired.LAUNCHES_PER_BLOCK, paired.MOST_LAUNCHES
        if not least <= self.launches <= most:
            raise UsageError(f"launches is {self.launches}, it must be {least} to {most}")
        if self.seed is not None and self.seed < 0:
            raise UsageError(f"seed is {self.seed}, it must be at least 0")


@dataclass(frozen=True)
class Compared:
    """Both runs, what they say of each other, and the record of the comparison."""

    a: Record
    b: Record
    verdict: Verdict
    path: Path


def compare(request: AbRequest, folder: Path, progress: Progress = SILENT) -> Compared:
    """Builds what is to be built, measures both sides in turns, records both runs and the
    comparison into `folder`.

    Raises whatever ends either run; its record is there, that of the comparison is not.
    """
    definition = find_device(request.device)
    sides = []
    for side in (request.a, request.b):
        check(side)  # before a build of the other one takes its time
    for name, side in (("A", request.a), ("B", request.b)):
        with progress.step(f"{name}: {side.what}"):
            sides.append(ready(side, definition, folder, progress))
    known = floors.read(definition.name, floors_folder())
    with definition.open(trust_new=request.trust_new) as device:
        return measure(device, sides, request, folder, known, progress)


def measure(
    device: Device,
    sides: list[Ready],
    request: AbRequest,
    folder: Path,
    known: Floor | None,
    progress: Progress = SILENT,
) -> Compared:
    """As `compare`, of two sides that are ready, on a connected device with this noise floor."""
    info = device.describe()
    seed = uuid4().int % 2**32 if request.seed is None else request.seed
    comparison_id = uuid4().hex[:12]
    common: dict[str, Any] = {
        "comparison": comparison_id,
        "seed": seed,
        "is_duet": request.duet,
        "floor": asdict(known) if known else None,
    }
    schedule = _schedule(device, info, request, seed, max(side.threads for side in sides))
    jobs = []
    for name, side in zip("AB", sides, strict=True):
        settings = _settings(request, side.threads, info)
        jobs.append(Job(side.subject, side.expected, settings, {**common, "side": name}))
    outcomes = protocol.measure_all(device, info, jobs, schedule, folder, progress)
    for outcome in outcomes:
        if outcome.error is not None:
            progress.note(f"recorded: {outcome.path}")
            raise outcome.error
    a, b = (records.read(outcome.path) for outcome in outcomes)
    verdict = verdicts.judge(a, b)
    return Compared(a, b, verdict, verdicts.write(verdict, a, b, folder))


def _settings(request: AbRequest, threads: int, info: DeviceInfo) -> Settings:
    """Of one side: what each launch is to do, times the number of launches."""
    asked = request.settings
    if info.is_emulated:
        return replace(asked, threads=threads, launches=1)
    launches = 2 * ((request.launches + 1) // 2)
    runs = LAUNCH_RUNS if asked.runs is None else asked.runs
    min_time_ms = LAUNCH_MS if asked.min_time_ms is None else asked.min_time_ms
    return replace(
        asked,
        threads=threads,
        launches=launches,
        runs=runs * launches,
        min_time_ms=min_time_ms * launches,
    )


def _schedule(
    device: Device, info: DeviceInfo, request: AbRequest, seed: int, threads: int
) -> Schedule:
    if info.is_emulated:
        if request.duet:
            raise UsageError(
                f"{device.name} is emulated: its counts are exact, and its times mean nothing",
                hint="leave out --duet",
            )
        return [[Turn(paired.A)], [Turn(paired.B)]]
    if not request.duet:
        return [
            [Turn(side, place={"block": block, "turn": turn})]
            for turn, (side, block) in enumerate(paired.order(request.launches, seed))
        ]
    cpus = duet_cpus(device, threads, request.settings.control.cores)
    return [
        [
            Turn(side, cpus[place], {"block": block, "turn": turn, "cpus": cpus[place]})
            for place, side in enumerate((first, 1 - first))
        ]
        for turn, (first, block) in enumerate(paired.duets(request.launches, seed))
    ]


def duet_cpus(device: Device, threads: int, wanted: str = "") -> tuple[str, str]:
    """Two lists of `threads` CPUs each, all of one kind, the fastest that has so many, among those
    that are `wanted` (see `Control`); the last ones, since the first is most often the one that
    serves interrupts.

    DeviceError when the device has not enough of them, or does not tell.
    """
    known = topology.parse(sysfs.read(device, *sysfs.TOPOLOGY))
    among = set(known.choose(wanted, threads) if wanted else known.cores)
    kinds = [sorted(among.intersection(cluster.cores)) for cluster in known.clusters]
    alike = next((cpus for cpus in reversed(kinds) if len(cpus) >= 2 * threads), None)
    if alike is None:
        raise DeviceError(
            f"a duet of {threads} threads a side takes {2 * threads} cores of one kind that we may "
            f"use, there are {max(map(len, kinds), default=0)}",
            where=device.name,
            hint="leave out --duet: launches in turns need no core more",
        )
    chosen = alike[-2 * threads :]
    return sysfs.list_of(chosen[:threads]), sysfs.list_of(chosen[threads:])


def floors_folder() -> Path:
    """Where the noise floors of devices are kept."""
    return paths.state() / "floors"


def calibrate(request: AbRequest, folder: Path, progress: Progress = SILENT) -> Floor:
    """Measures a side against itself and keeps what that says of the device: the furthest that the
    interval of the ratio reaches from 1. `request.b` is not looked at.

    UsageError for an emulated device, whose counts are exact; errors as `compare`.
    """
    definition = find_device(request.device)
    side = ready(request.a, definition, folder, progress)
    with definition.open(trust_new=request.trust_new) as device:
        floor = floor_of(device, side, request, folder, progress)
    floors.write(floor, floors_folder())
    return floor


def floor_of(
    device: Device, side: Ready, request: AbRequest, folder: Path, progress: Progress = SILENT
) -> Floor:
    """As `calibrate`, of a side that is ready, on a connected device; keeps nothing."""
    info = device.describe()
    if info.is_emulated:
        raise UsageError(
            f"{device.name} is emulated: its counts of instructions are exact and have no floor",
            hint="calibrate a device whose times mean something",
        )
    found = measure(device, [side, side], request, folder, None, progress)
    low, high = found.verdict.interval.low, found.verdict.interval.high
    return Floor(
        device=device.name,
        share=max(abs(low - 1), abs(high - 1)),
        ratio=found.verdict.ratio,
        interval=(low, high),
        launches=found.verdict.launches,
        is_duet=request.duet,
        measured=side.subject.model.stem,
        date=found.a.header.time[:19] + "Z",
        boot_id=info.boot_id,
        kernel=info.kernel,
        governor=found.a.header.control["governor"],
        run_ids=(found.a.header.run_id, found.b.header.run_id),
        cores=found.a.header.affinity,
    )
