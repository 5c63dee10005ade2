"""Files of which each byte is damaged, by how they store weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.engine.raw_runs import WrongInputError, run_arrays
from tests.small_programs import Net
from trimtab import _engine, modelfile
from trimtab.modelfile.image import Image, new_image
from trimtab.planner.plan_file import WEIGHTS_TYPES, Plan
from trimtab.program import Program


def planned(form: str) -> Program:
    """A convolution and a GEMM whose weights are stored so, with panels that are not full."""
    net = Net(x=(1, 8, 3, 3))
    y = net.conv("x", 5, 3)
    program = net.finish(net.conv(y, 29))
    return trimtab.optimize(program, plan=Plan(("direct",), weights_type=form))


def damaged(image: Image, at: int) -> Image:
    """A copy with one other byte."""
    copy = new_image(image.size)
    copy[:] = image
    copy[at] ^= 1 << at % 8
    return copy


@pytest.mark.parametrize("form", WEIGHTS_TYPES)
def test_each_damaged_byte_of_stored_weights_is_an_error_or_runs(form: str, tmp_path: Path) -> None:
    program = planned(form)
    assert any(op.schema.prepares for op in program.ops)
    program.save(tmp_path / "net.ttm")
    image = np.fromfile(tmp_path / "net.ttm", np.uint8)
    x = np.ones((1, 8, 3, 3), np.float32)
    run_arrays(_engine.Executor(damaged(damaged(image, 0), 0)), [x])
    outcomes: set[str] = set()
    for at in range(image.size):
        wrong = damaged(image, at)
        with pytest.raises(_engine.EngineError):
            _engine.check_model(wrong)
        modelfile.seal(wrong)
        try:
            run_arrays(_engine.Executor(wrong), [x])
            outcomes.add("runs")
        except (_engine.EngineError, WrongInputError):
            outcomes.add("refused")
    assert outcomes == {"runs", "refused"}
