"""Rounding of stored weights by samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.small_programs import Net, normal
from trimtab import quantization
from trimtab.pipeline.calibration import Calibration
from trimtab.pipeline.precision import convert
from trimtab.planner.plan_file import Plan
from trimtab.target import Target

SAMPLES = np.random.default_rng(2).normal(0, 1, (6, 16, 12, 12)).astype(np.float32)


@pytest.mark.parametrize(("form", "dtype"), [("int8", "i8"), ("bits5", "u8"), ("bits4", "u8")])
def test_samples_round_stored_weights_jointly(form: str, dtype: str, tmp_path: Path) -> None:
    net = Net(x=(1, 16, 12, 12))
    program = net.finish(net("relu", net.conv(net("relu", net.conv("x", 32, 1)), 24, 1)))
    plan, target = Plan(("direct",), weights_type=form), Target.of("aarch64", "cortex-a53")
    mixed = np.einsum("sc...,cd->sd...", SAMPLES[:, :6], normal(6, 16)) + 2  # as features are
    path = str(tmp_path / "s.npz")
    np.savez(path, x=np.abs(mixed).astype(np.float32))
    network = convert(program, plan, Calibration(path), target)
    held_out = quantization.read_samples(path, program).held_out
    nearest = quantization.compare(program, program, held_out, plan=plan)
    joint = quantization.compare(program, network.program, held_out, plan=plan)
    assert network.accuracy == joint
    assert joint.noise is not None
    assert nearest.noise is not None
    assert joint.noise < 0.5 * nearest.noise
    # The file holds these very weights.
    planned = trimtab.optimize(network.program, target, network.plan)
    assert [var.dtype for var in planned.constants() if var.dtype != "f32"] == [dtype, dtype]
    exact, stored = (
        trimtab.Session(network.program, plan=one).run(next(iter(held_out)))
        for one in (Plan(("direct",), prefer="load"), plan)
    )
    for name, expected in exact.items():
        np.testing.assert_array_equal(stored[name], expected)
