"""A/B comparisons: measures two arms in interleaved rounds on one device.

A comparison of an arm with itself gives the noise floor of the device.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from trimtab import paths
from trimtab.bench import protocol
from trimtab.bench.jobs import Job, Schedule, ScheduledLaunch, Settings
from trimtab.compare import noise_floor, paired, verdicts
from trimtab.compare.arms import Arm, PreparedArm, check, prepare_arm, toolchain_of
from trimtab.compare.noise_floor import NoiseFloor
from trimtab.compare.verdicts import Verdict
from trimtab.devices import Device, DeviceDefinition, DeviceInfo, find_device
from trimtab.devices.control import sysfs, topology
from trimtab.errors import DeviceError, UsageError
from trimtab.pipeline.measured import ready_device
from trimtab.progress import SILENT, Progress
from trimtab.results import records
from trimtab.results.records import Record

LAUNCHES = 20  # per arm
LAUNCH_MS = 250  # steady state of one launch
LAUNCH_RUNS = 5
FLOOR_MODEL = "shufflenet_v2"


@dataclass(frozen=True)
class AbRequest:
    """Two arms and how to compare them.

    `launches` is per arm. `seed` determines the order of launches; None draws a new one. `settings`
    apply to each launch: `settings.launches` is ignored, and `runs` and `min_time_ms` None take
    the defaults of this module.
    """

    a: Arm
    b: Arm
    device: str = "local"
    launches: int = LAUNCHES
    duet: bool = False
    seed: int | None = None
    trust_new: bool = False
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        """Raises UsageError if the launches do not fill two blocks or exceed the maximum, or if the
        seed is negative.
        """
        min_launches, max_launches = 2 * paired.LAUNCHES_PER_BLOCK, paired.MAX_LAUNCHES
        if not min_launches <= self.launches <= max_launches:
            raise UsageError(
                f"launches is {self.launches}, it must be {min_launches} to {max_launches}"
            )
        if self.seed is not None and self.seed < 0:
            raise UsageError(f"seed is {self.seed}, it must be at least 0")


@dataclass(frozen=True)
class AbResult:
    """The records of both arms, the verdict, and the file of the comparison."""

    a: Record
    b: Record
    verdict: Verdict
    path: Path


def compare(request: AbRequest, folder: Path, progress: Progress = SILENT) -> AbResult:
    """Builds both arms, measures them in interleaved rounds, and writes the records into `folder`.

    Raises the error that ends either run. Both run records exist then, but no comparison.
    """
    definition = find_device(request.device)
    _ask(definition, request, folder)
    arms = []
    for name, arm in (("A", request.a), ("B", request.b)):
        with progress.step(f"{name}: {arm.what}"):
            trust, wait_s = request.trust_new, request.settings.control.wait_s
            arms.append(
                prepare_arm(arm, definition, folder, progress, trust_new=trust, wait_s=wait_s)
            )
    floor = noise_floor.read(definition.name, floors_folder())
    with definition.open(trust_new=request.trust_new) as device:
        return measure(device, arms, request, folder, floor, progress)


def _ask(definition: DeviceDefinition, request: AbRequest, folder: Path) -> None:
    """Errors of both arms, and of the device with each, before a build takes minutes."""
    arms = request.a, request.b
    for arm in arms:
        check(arm)
    toolchains = dict.fromkeys(toolchain_of(arm, definition, folder) for arm in arms)
    ready_device(
        definition,
        *filter(None, toolchains),
        trust_new=request.trust_new,
        wait_s=request.settings.control.wait_s,
    )


def measure(
    device: Device,
    arms: list[PreparedArm],
    request: AbRequest,
    folder: Path,
    floor: NoiseFloor | None,
    progress: Progress = SILENT,
) -> AbResult:
    """`compare` for prepared arms on a connected device with this noise floor."""
    info = device.describe()
    seed = uuid4().int % 2**32 if request.seed is None else request.seed
    common: dict[str, Any] = {
        "comparison": uuid4().hex[:12],
        "seed": seed,
        "is_duet": request.duet,
        "floor": asdict(floor) if floor else None,
    }
    schedule = _schedule(device, info, request, seed, max(arm.threads for arm in arms))
    jobs = []
    for name, arm in zip("AB", arms, strict=True):
        settings = arm_settings(request, arm.threads, info)
        jobs.append(Job(arm.subject, arm.expected, settings, {**common, verdicts.ARM: name}))
    outcomes = protocol.measure_all(device, info, jobs, schedule, folder, progress)
    for outcome in outcomes:
        if outcome.error is not None:
            progress.note(f"recorded: {outcome.path}")
            raise outcome.error
    a, b = (records.read(outcome.path) for outcome in outcomes)
    verdict = verdicts.judge(a, b)
    return AbResult(a, b, verdict, verdicts.write(verdict, a, b, folder))


def arm_settings(request: AbRequest, threads: int, info: DeviceInfo) -> Settings:
    """The settings of one arm's job: those of a launch, times the number of launches."""
    settings = replace(request.settings, threads=threads)
    if info.is_emulated:
        return replace(settings, launches=1)
    launches = 2 * ((request.launches + 1) // 2)
    runs = LAUNCH_RUNS if settings.runs is None else settings.runs
    min_time_ms = LAUNCH_MS if settings.min_time_ms is None else settings.min_time_ms
    return replace(
        settings, launches=launches, runs=runs * launches, min_time_ms=min_time_ms * launches
    )


def _schedule(
    device: Device, info: DeviceInfo, request: AbRequest, seed: int, threads: int
) -> Schedule:
    if info.is_emulated:
        if request.duet:
            raise UsageError(
                f"{device.name} is emulated: its instruction counts are exact, and its times are "
                "not measurements",
                hint="leave out --duet",
            )
        return [[ScheduledLaunch(paired.A)], [ScheduledLaunch(paired.B)]]
    if not request.duet:
        return interleaved(request.launches, seed)
    cpus = duet_cpus(device, threads, request.settings.control.cores)
    return [
        [
            ScheduledLaunch(arm, cpus[lane], {"block": block, "turn": turn, "cpus": cpus[lane]})
            for lane, arm in enumerate((first, 1 - first))
        ]
        for turn, (first, block) in enumerate(paired.duets(request.launches, seed))
    ]


def interleaved(launches: int, seed: int, arms: int = 2) -> Schedule:
    """The schedule of `launches` per arm in interleaved blocks, one launch at a time."""
    return [
        [ScheduledLaunch(arm, tags={"block": block, "turn": turn})]
        for turn, (arm, block) in enumerate(paired.order(launches, seed, arms))
    ]


def duet_cpus(device: Device, threads: int, cores: str = "") -> tuple[str, str]:
    """Two disjoint lists of `threads` CPUs each, for launches at the same time.

    All CPUs are of one kind: the fastest kind with enough of them among `cores` (see `Control`).
    The last ones are chosen, since the first CPU usually serves interrupts. Raises DeviceError if
    there are too few, or if the device does not report them.
    """
    layout = topology.parse(sysfs.read(device, *sysfs.TOPOLOGY))
    allowed = set(layout.choose(cores, threads) if cores else layout.cores)
    clusters = [sorted(allowed.intersection(cluster.cores)) for cluster in layout.clusters]
    cpus = next((cpus for cpus in reversed(clusters) if len(cpus) >= 2 * threads), None)
    if cpus is None:
        raise DeviceError(
            f"a duet with {threads} threads per arm needs {2 * threads} cores of one kind, "
            f"{max(map(len, clusters), default=0)} are available",
            where=device.name,
            hint="leave out --duet: interleaved launches need no additional core",
        )
    cpus = cpus[-2 * threads :]
    return sysfs.list_of(cpus[:threads]), sysfs.list_of(cpus[threads:])


def floors_folder() -> Path:
    """The folder that stores the noise floors of devices."""
    return paths.state() / "floors"


def calibrate(request: AbRequest, folder: Path, progress: Progress = SILENT) -> NoiseFloor:
    """Measures `request.a` against itself, and stores the noise floor of the device.

    The floor is the largest distance of the ratio's interval from 1. `request.b` is ignored. Raises
    UsageError for an emulated device, whose counts are exact, and the errors of `compare`.
    """
    definition = find_device(request.device)
    _ask(definition, replace(request, b=request.a), folder)
    trust = request.trust_new
    arm = prepare_arm(request.a, definition, folder, progress, trust_new=trust)
    with definition.open(trust_new=request.trust_new) as device:
        floor = measure_floor(device, arm, request, folder, progress)
    noise_floor.write(floor, floors_folder())
    return floor


def measure_floor(
    device: Device,
    arm: PreparedArm,
    request: AbRequest,
    folder: Path,
    progress: Progress = SILENT,
) -> NoiseFloor:
    """`calibrate` for a prepared arm on a connected device, without storing the result."""
    info = device.describe()
    if info.is_emulated:
        raise UsageError(
            f"{device.name} is emulated: its instruction counts are exact and have no noise floor",
            hint="calibrate a device whose times are measurements",
        )
    result = measure(device, [arm, arm], request, folder, None, progress)
    low, high = result.verdict.interval.low, result.verdict.interval.high
    return NoiseFloor(
        device=device.name,
        share=max(abs(low - 1), abs(high - 1)),
        ratio=result.verdict.ratio,
        interval=(low, high),
        launches=result.verdict.launches,
        is_duet=request.duet,
        measured=arm.subject.model.stem,
        date=result.a.header.time[:19] + "Z",
        boot_id=info.boot_id,
        kernel=info.kernel,
        governor=result.a.header.control["governor"],
        run_ids=(result.a.header.run_id, result.b.header.run_id),
        cores=result.a.header.affinity,
        threads=arm.threads,
    )
