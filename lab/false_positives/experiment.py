"""Runs A/B comparisons with known answers on this machine."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lab.false_positives import neighbor
from lab.false_positives.trials import KINDS, LAYERS, Trial, schedule
from trimtab import files, paths
from trimtab.bench.jobs import Settings
from trimtab.compare import noise_floor
from trimtab.compare.ab import AbRequest, measure, measure_floor
from trimtab.compare.arms import Arm, PreparedArm, prepare_arm
from trimtab.compare.noise_floor import NoiseFloor
from trimtab.devices import Device, find_device
from trimtab.devices.control.controlled import Control
from trimtab.errors import UsageError
from trimtab.pipeline.recipe import Recipe
from trimtab.progress import SILENT, Progress
from trimtab.zoo.builder import INPUT, Net

_DEVICE = "local"
_CHANNELS, _SIZE = 32, 28
# About 40 ms per launch, at 1.5 ms per run.
_LAUNCH = Settings(warmup=2, runs=20, min_time_ms=0, timeout_s=60)
_FLOOR_LAUNCHES = 200  # a noise floor of fewer launches exceeds the planted differences
_NEIGHBOR_S = 120.0  # a trial takes a few seconds


@dataclass(frozen=True)
class TrialRun:
    """All trials so far, and the noise floor they were judged by."""

    trials: tuple[Trial, ...]
    floor: NoiseFloor


def run(
    trials: int, *, resume: bool = False, wait_s: float = 0.0, progress: Progress = SILENT
) -> TrialRun:
    """Runs `trials` comparisons of A with A, and as many with a planted difference.

    Finished trials are saved in the cache; `resume` continues them. UsageError when there are none,
    or they are of other binaries or from before a restart. DeviceBusyError when another
    measurement uses this machine for longer than `wait_s`.
    """
    if trials < 1:
        raise UsageError(f"trials is {trials}, but must be at least 1")
    definition = find_device(_DEVICE)
    launch = replace(_LAUNCH, control=Control(wait_s=wait_s))
    with progress.step("build the networks"):
        folder = paths.cache() / "false_positives"
        planted = sorted({kind.planted for kind in KINDS})
        arms = {n: _arm(LAYERS + n * LAYERS // 100, folder) for n in planted}
        built = {n: prepare_arm(arm, definition, folder, progress) for n, arm in arms.items()}
    with definition.open() as device, tempfile.TemporaryDirectory(prefix="trimtab-") as scratch:
        log = TrialLog(folder / "trials.jsonl", _facts(device, built))
        if resume:
            log.read()
        else:
            with progress.step("calibrate"):
                same = AbRequest(arms[0], arms[0], launches=_FLOOR_LAUNCHES, settings=launch)
                log.begin(measure_floor(device, built[0], same, Path(scratch)))
        assert log.floor is not None
        due = schedule(trials)
        with progress.step("run the trials", "trials", still=True) as step:
            for done, kind in enumerate(due[len(log.trials) :], len(log.trials)):
                step.update(done, len(due), KINDS[kind].title)
                log.add(_trial(device, built, arms, kind, log.floor, launch))
            step.update(len(due), len(due))
    return TrialRun(tuple(log.trials), log.floor)


def _trial(
    device: Device,
    built: dict[int, PreparedArm],
    arms: dict[int, Arm],
    kind: int,
    floor: NoiseFloor,
    launch: Settings,
) -> Trial:
    trial = KINDS[kind]
    request = AbRequest(arms[0], arms[trial.planted], launches=trial.launches, settings=launch)
    load = os.getloadavg()[0]
    load_generator = neighbor.running(_NEIGHBOR_S) if trial.is_noisy else nullcontext()
    with load_generator, tempfile.TemporaryDirectory(prefix="trimtab-") as scratch:
        pair = [built[0], built[trial.planted]]
        verdict = measure(device, pair, request, Path(scratch), floor).verdict
    low, high = verdict.interval.low, verdict.interval.high
    return Trial(kind, verdict.ratio, low, high, verdict.is_real, round(load, 2))


class TrialLog:
    """The saved trials of one run: a line of facts, then one line per trial."""

    def __init__(self, path: Path, facts: dict[str, Any]) -> None:
        self._path, self._facts = path, facts
        self.floor: NoiseFloor | None = None
        self.trials: list[Trial] = []

    def begin(self, floor: NoiseFloor) -> None:
        """Starts a new log; replaces the old one."""
        self.floor = floor
        self._write()

    def read(self) -> None:
        """Continues the saved log; UsageError when its facts differ."""
        again = "leave out --resume"
        try:
            first, *lines = self._lines()
            self.floor = noise_floor.from_json(first.pop("floor"))
            self.trials = [Trial(**line) for line in lines]
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = f"there are no trials to resume: {error}"
            raise UsageError(message, where=str(self._path), hint=again) from error
        if first != self._facts:
            raise UsageError(
                "the saved trials are of other binaries, or from before the last restart",
                where=str(self._path),
                hint=again,
            )

    def add(self, trial: Trial) -> None:
        """Adds a trial and saves it."""
        self.trials.append(trial)
        self._write()

    def _write(self) -> None:
        assert self.floor is not None
        lines = [{**self._facts, "floor": asdict(self.floor)}, *map(asdict, self.trials)]
        files.write_text(self._path, "".join(json.dumps(line) + "\n" for line in lines))

    def _lines(self) -> Iterator[dict[str, Any]]:
        for line in self._path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def _facts(device: Device, built: dict[int, PreparedArm]) -> dict[str, Any]:
    """Facts that all trials of a log must share."""
    return {
        "boot_id": device.describe().boot_id,
        "kept": [built[n].subject.binary.parent.name for n in sorted(built)],
        "launch": asdict(_LAUNCH),
        "kinds": [asdict(kind) for kind in KINDS],
    }


def _arm(layers: int, folder: Path) -> Arm:
    """A network of equal layers, 1x1 convolutions with batch normalization and ReLU: 1 % more
    layers are 1 % more instructions and memory traffic.
    """
    path = folder / f"layers{layers}.onnx"
    net = Net(path.stem, (1, _CHANNELS, _SIZE, _SIZE))
    x = INPUT
    for _ in range(layers):
        x = net.conv_bn(x, _CHANNELS)
    net.output(x, "output")
    files.write_bytes(path, net.model("").SerializeToString(deterministic=True))
    return Arm(str(path), Recipe(model=str(path)), 1)
