"""An optimized program whose input is resized computes what it computes if built for that size, or
refuses the size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab
from tests.engine.raw_runs import run_arrays
from tests.ops.cases.convolution import CONV
from tests.small_programs import Net, evaluate, normal
from trimtab import modelfile
from trimtab.engine import EngineError, engine
from trimtab.program import Program

Shape = tuple[int, ...]
IMAGES = {
    name: case
    for name, case in CONV.items()
    if len(case[0]) == 4 and "auto_pad" not in case[2]  # padding that importers compute
}
# One pixel or one channel makes a layout that others do not have.
FIXED = {
    *("1x1-one-channel", "3x3-on-one-pixel", "whole-image", "depthwise-on-one-pixel"),
    *("one-channel-to-many", "1x1-one-pixel"),
}


def network(x: Shape, weights: np.ndarray, attributes: dict[str, Any]) -> Program:
    net = Net(x=x)
    return net.finish(net("relu", net("conv", "x", weights, **attributes)))


@pytest.mark.parametrize("name", IMAGES)
def test_a_convolution_keeps_its_meaning_at_other_sizes(name: str) -> None:
    (n, c, height, width), shape, attributes = IMAGES[name]
    settings = {key: tuple(v) if isinstance(v, list) else v for key, v in attributes.items()}
    weights = normal(*shape)
    program = network((n, c, height, width), weights, settings)
    executor = engine().Executor(modelfile.encode(trimtab.optimize(program)), 1)
    for size in ((n, c, height + 9, width + 11), (1, c, height, width)):
        x = normal(*size)
        if name in FIXED and size[2:] != (height, width):
            with pytest.raises(EngineError, match="number of elements changes"):
                executor.resize_input(0, list(size))
            continue
        executor.resize_input(0, list(size))
        (actual,) = run_arrays(executor, [x])
        (want,) = evaluate(network(size, weights, settings), {"x": x}).values()
        np.testing.assert_allclose(actual, want, atol=1e-4 * max(1.0, np.abs(want).max()))
