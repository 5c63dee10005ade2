"""Packed weights, biases, scales and slopes that end one element early: refused, because kernels
read whole panels.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.fuzz import networks
from tests.ops import test_dilated, test_quantized_slopes, test_strassen
from tests.small_programs import Net, normal
from trimtab.errors import ProgramError
from trimtab.planner.plan_file import Plan
from trimtab.program import Op, Program

pytestmark = pytest.mark.bounds

# Operators and their padded operands.
OPERANDS = {
    "conv": ("w", "bias"),
    "conv_depthwise": ("w",),
    "conv_dilated": ("w", "bias"),
    "conv_separable": ("w", "expand", "expand_bias", "project", "project_bias"),
    "conv_strassen": ("w", "bias"),
    "conv_transpose": ("w", "bias"),
    "conv_winograd": ("w",),
    "gemm": ("w", "bias"),
    "qlinear_conv": ("w", "bias", "scale", "slope"),
    "qlinear_conv_depthwise": ("w",),
    "qlinear_conv_winograd": ("w", "bias", "scale", "slope"),
}
CASES = [(op, operand) for op, operands in OPERANDS.items() for operand in operands]


def programs(folder: Path) -> Iterator[Program]:
    """Planned programs with these operators; all weights are packed in the file."""
    net = Net(x=(1, 16, 9, 7))
    y = net.conv("x", 19, 3)
    y = net("conv_transpose", y, normal(19, 5, 2, 2), normal(5), strides=[2, 2])
    y = net.conv(y, 5, 3, group=5)
    y = net(
        "gemm", net("reshape", net("global_average_pool", y), shape=[1, 5]), normal(3, 5), normal(3)
    )
    several = net.finish(y)
    strassen, _ = test_strassen.program_of(test_strassen.LAYERS["one remaining column"])
    for algorithm in ("direct", "depthwise", "winograd_4"):
        yield trimtab.optimize(several, None, Plan((algorithm,), prefer="load"))
    yield trimtab.optimize(strassen, None, Plan(("strassen",), prefer="load"))
    dilated, _ = test_dilated.program_of(test_dilated.LAYERS["rows"])
    yield trimtab.optimize(dilated, None, Plan(("dilated",), prefer="load"))
    for _, program in networks.chains(folder, "load"):
        yield program
    for name, algorithms in (
        ("tiles", ("quantized_winograd",)),
        ("tiles", ("quantized",)),
        ("depthwise-5x3", ("quantized_depthwise",)),
    ):
        model, _, _ = test_quantized_slopes.case(name, "prelu")
        yield trimtab.optimize(trimtab.load(model), None, Plan(algorithms, prefer="load"))


@pytest.fixture(scope="module")
def padded(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Program]:
    """A program for each operator and operand, in which it has more elements than its shape."""
    result: dict[tuple[str, str], Program] = {}
    for program in programs(tmp_path_factory.mktemp("programs")):
        for op in program.ops:
            for port in op.schema.inputs:
                name = op.operand(port.name)
                data = program.vars[name].data if name else None
                if data is not None and data.size > np.prod(program.vars[name].shape):
                    result.setdefault((op.type, port.name), program)
    return result


def test_every_padded_operand_is_listed(padded: dict[tuple[str, str], Program]) -> None:
    assert set(padded) == set(CASES)


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_an_operand_that_is_one_element_too_short_is_refused(
    case: tuple[str, str], padded: dict[tuple[str, str], Program]
) -> None:
    program = padded[case].copy()
    trimtab.Session(program)
    op: Op = next(op for op in program.ops if op.type == case[0] and op.operand(case[1]))
    var = program.vars[op.operand(case[1])]
    var.data = np.ascontiguousarray(np.asarray(var.data).reshape(-1)[:-1])
    with pytest.raises(ProgramError, match="too short"):
        trimtab.Session(program)
