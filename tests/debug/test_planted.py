"""Faults that are planted in kernels are named by operator."""

from __future__ import annotations

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


def diagnosed(folder: Path, fault: Fault, *, repeat: bool = False) -> Diagnosis:
    samples = 0.5 * np.random.default_rng(3).standard_normal((8, 1, 3, 13, 11), np.float32)
    np.savez(folder / "samples.npz", x=samples)
    calibrated = fault.precision == "int8"
    recipe = Recipe(
        model=str(write(folder)),
        plan=Plan(precision=fault.precision, threads=fault.threads),
        calibration=Calibration(str(folder / "samples.npz") if calibrated else ""),
        measurement=MeasurementRequest(fault.device, Settings(accept_wrong=True)),
    )
    return diagnose(recipe, repeat=repeat)
