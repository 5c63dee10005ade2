"""Calibration of constant tensors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import trimtab
from tests.quantization.small import DATA, network
from tests.recorded_progress import RecordedProgress
from trimtab.quantization import samples
from trimtab.quantization.calibration import calibrate
from trimtab.quantization.ranges import Ranges

INPUTS = {"data": ((1, 3, 4, 6), "float32")}


def test_a_tensor_that_is_always_0_has_no_range_and_stays_in_float32(
    tmp_path: Path,
) -> None:
    program = network()
    values, _ = calibrate(program, samples.of_arrays({"data": -abs(DATA)}, INPUTS))
    assert {*values.ranges} == {"data", "y"}
    values.write(tmp_path / "ranges.toml")
    assert Ranges.read(tmp_path / "ranges.toml") == values
    quantized = trimtab.quantize(program, {"data": -abs(DATA)}, ranges=values)
    relu = next(op for op in quantized.program.ops if op.type == "relu")
    assert relu.outputs == ["z"]  # its result is not rounded


def test_samples_are_not_run_for_the_channels_of_a_network_without_any_to_scale() -> None:
    alone, progress = network(), RecordedProgress()
    calibrate(alone, samples.of_arrays({"data": DATA}, INPUTS), progress=progress)
    assert "calibrating: ranges" in progress.lines
    assert "calibrating: channels" not in progress.lines
    pair, progress = network(), RecordedProgress()
    weights = pair.block.add_constant(np.ones((2, 2, 1, 1), np.float32))
    pair.outputs = pair.block.add_op("conv", ["z", weights])
    calibrate(pair, samples.of_arrays({"data": DATA}, INPUTS), progress=progress)
    assert "calibrating: channels" in progress.lines
