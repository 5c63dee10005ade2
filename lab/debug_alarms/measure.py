"""Diagnoses of networks that are right, on emulated cores: an operator that is named is a false
alarm.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.committed import Baseline
from lab.experiment import Experiment, FigureRow, figure, figure_row, text
from lab.peers.converted import normal_samples
from trimtab import files, paths, zoo
from trimtab.bench.jobs import Settings
from trimtab.debug.diagnosis import Diagnosis, diagnose
from trimtab.devices.control import Control
from trimtab.errors import TrimtabError
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.planner.plan_file import Plan
from trimtab.progress import Progress
from trimtab.zoo import networks
from trimtab.zoo.builder import INPUT, Net

PRECISIONS = ("f32", "f16", "int8")
_CORES = ("qemu-a53", "qemu-a76", "qemu-armv7")
_HALF = "qemu-a76"  # the others compute no f16
_PROFILE = "full"  # a binary of all networks, so that there is one build for a core
_SETTINGS = Settings(accept_wrong=True, control=Control(wait_s=600))
_SHAPE = (1, 3, 96, 96)  # an emulator takes its time
_FIXED = ("mobilevit_xxs", "recognizer_svtr", "vit_tiny")  # networks of one size
TIMM = (
    "test_byobnet",
    "test_convnext",
    "test_convnext2",
    "test_efficientnet",
    "test_efficientnet_gn",
    "test_mambaout",
    "test_nfnet",
    "test_resnet",
    "test_vit",
)


@figure_row
class AlarmRow(FigureRow):
    """The diagnosis of a network. `operators`: how many were compared; `unknown`: how many this
    machine could not compute; `beyond`: how many were beyond their bounds; `of_bound`: the largest
    error beside its bound; `cause`: "" if the network is right there.
    """

    network: str = text("network")
    precision: str = text("precision")
    device: str = text("device")
    operators: int = figure("operators")
    unknown: int = figure("not compared")
    beyond: int = figure("beyond the bound")
    of_bound: float = figure("largest error by its bound", ".3f", digits=4)
    cause: str = text("cause")
    seconds: int = figure()


ALARMS = Experiment(
    "bench.alarms",
    "debug_alarms",
    AlarmRow,
    packages=("numpy",),
    selection=("networks", "precisions"),
    baseline=Baseline("debug_alarms", ("network", "precision"), ("beyond",)),
    stand_ins={"exports": "EXPORTS"},
)


def names() -> list[str]:
    """All networks: those of the zoo, and the smallest ones of timm."""
    return [*zoo.names(), *TIMM]


def diagnosed(
    names: Sequence[str], precisions: Sequence[str], exports: Path, progress: Progress
) -> Iterator[AlarmRow]:
    """A row for each network and precision. `exports`: the folder of timm's networks, which
    `lab/networks/export.py` writes. Networks take turns on the cores. A network that cannot be
    built or run has the error as its cause.
    """
    everything = [(name, precision) for name in names for precision in precisions]
    with progress.step("diagnose", "networks") as step:
        for done, (name, precision) in enumerate(everything):
            step.update(done, len(everything), f"{name}, {precision}")
            yield _row(name, precision, exports, progress)
        step.update(len(everything), len(everything))


def model_file(name: str, exports: Path) -> Path:
    """The network's file: of the zoo, on a small image if it can have another size."""
    if name in TIMM:
        return exports / "variants" / f"{name}.onnx"
    if name in _FIXED:
        return zoo.cached(name)
    net = Net(name, _SHAPE)
    importlib.import_module(f"{networks.__name__}.{name}").build(net, INPUT)
    path = paths.cache() / "debug_alarms" / f"{name}.onnx"
    files.write_bytes(path, net.model("").SerializeToString(deterministic=True))
    return path


def _calibration(precision: str, model: Path) -> Calibration:
    if precision != "int8":
        return Calibration()
    folder = paths.cache() / "debug_alarms"
    folder.mkdir(parents=True, exist_ok=True)
    return Calibration(str(normal_samples(model, folder)), method="min_max")


def _row(name: str, precision: str, exports: Path, progress: Progress) -> AlarmRow:
    turn = names().index(name) + PRECISIONS.index(precision)
    device = _HALF if precision == "f16" else _CORES[turn % len(_CORES)]
    path = model_file(name, exports)
    recipe = Recipe(
        model=str(path),
        profile=_PROFILE,
        plan=Plan(precision=precision),
        calibration=_calibration(precision, path),
        measurement=MeasurementRequest(device, _SETTINGS),
    )
    begin = time.monotonic()
    try:
        diagnosis: Diagnosis | None = diagnose(recipe, None, progress, repeat=False)
        why = ""
    except TrimtabError as error:
        diagnosis, why = None, str(error)
    seconds = round(time.monotonic() - begin)
    if diagnosis is None:
        return AlarmRow(name, precision, device, 0, 0, 0, 0.0, why, seconds)
    compared = [one for one in diagnosis.findings if not one.unknown]
    if diagnosis.cause:
        progress.note(f"{name}, {precision}: {diagnosis.verdict}")
    return AlarmRow(
        name,
        precision,
        device,
        len(compared),
        len(diagnosis.findings) - len(compared),
        sum(bool(one.wrong) for one in compared),
        max((one.error / one.bound for one in compared if one.bound), default=0.0),
        diagnosis.cause,
        seconds,
    )
