"""Regions of a network compute what the whole network computes."""

from __future__ import annotations

import numpy as np

from tests.debug.networks import small
from trimtab import passes
from trimtab.debug import regions
from trimtab.session import Session
from trimtab.target import Target


def test_regions_between_known_tensors_compute_the_network() -> None:
    program = passes.optimize(small())
    x = np.random.default_rng(1).standard_normal((1, 3, 13, 11)).astype(np.float32)
    values = {"x": x}
    cuts = [op.outputs for op in program.ops if op.type in ("max_pool", "reshape", "softmax")]
    assert len(cuts) == 3
    sizes = []
    for outputs in cuts:
        part = regions.region(program, {*values}, outputs)
        sizes.append(len(part.program.ops))
        computed = part.compute(values, Target.portable(Target.host().arch))
        values |= dict(zip(part.outputs, computed, strict=True))
    assert sum(sizes) > len(program.ops)  # each operator once, and conversions at the ends
    expected = Session(small()).run({"x": x})[program.outputs[0]]
    np.testing.assert_allclose(values[program.outputs[0]], expected, rtol=1e-4, atol=1e-6)


def test_a_region_computes_with_the_values_that_it_is_given() -> None:
    program = passes.optimize(small())
    pool = next(op for op in program.ops if op.type == "max_pool")
    part = regions.region(program, {*pool.inputs}, pool.outputs)
    x = np.arange(32 * 7 * 6, dtype=np.float32).reshape(1, 32, 7, 6)
    (y,) = part.compute({pool.inputs[0]: x}, Target.portable(Target.host().arch))
    assert y.shape == (1, 32, 4, 3)
    assert y.max() == x.max()
