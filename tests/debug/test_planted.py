"""Faults that are planted in kernels are named by operator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.debug.faults import FAULTS, Fault, PlantedSources
from tests.debug.networks import write
from tests.devices.conftest import require
from trimtab.bench.jobs import Settings
from trimtab.debug.diagnosis import Diagnosis, diagnose
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.planner.plan_file import Plan

pytestmark = [pytest.mark.build, pytest.mark.device]


def diagnosed(folder: Path, fault: Fault) -> Diagnosis:
    samples = 0.5 * np.random.default_rng(3).standard_normal((8, 1, 3, 13, 11), np.float32)
    np.savez(folder / "samples.npz", x=samples)
    calibrated = fault.precision == "int8"
    recipe = Recipe(
        model=str(write(folder, threads=fault.threads)),
        plan=Plan(precision=fault.precision, threads=fault.threads),
        calibration=Calibration(str(folder / "samples.npz") if calibrated else ""),
        measurement=MeasurementRequest(fault.device, Settings(accept_wrong=True)),
    )
    return diagnose(recipe, repeat=False)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlantedSources]:
    """One folder for all faults: each build after the first compiles one file."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield PlantedSources(tmp_path_factory.mktemp("planted"), monkeypatch)


EACH_RUN = ("qemu-a53-f32-rounding-softmax", "qemu-a76-f16-stride-pool")


@pytest.mark.parametrize("fault", [one for one in FAULTS if str(one) in EACH_RUN], ids=str)
def test_a_planted_fault_is_named_by_operator(
    sources: PlantedSources, tmp_path: Path, fault: Fault
) -> None:
    require("qemu-aarch64", "qemu-user")
    with sources.planted(fault):
        diagnosis = diagnosed(tmp_path, fault)
    assert diagnosis.first
    assert (diagnosis.cause, diagnosis.first.type) == ("kernel", fault.operator)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [one for one in FAULTS if str(one) not in EACH_RUN], ids=str)
def test_each_of_twenty_planted_faults_is_named_by_operator(
    sources: PlantedSources, tmp_path: Path, fault: Fault
) -> None:
    test_a_planted_fault_is_named_by_operator(sources, tmp_path, fault)


def test_there_are_twenty_faults_of_six_kinds_on_four_cores() -> None:
    assert len(FAULTS) == 20
    kinds = {"tail", "stride", "rounding", "overflow", "lane", "race"}
    assert {fault.kind for fault in FAULTS} == kinds
    assert {fault.device for fault in FAULTS} == {"qemu-a53", "qemu-a76", "qemu-armv7", "qemu-v1"}
