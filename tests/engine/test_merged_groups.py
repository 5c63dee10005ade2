"""Groups of a convolution that one GEMM computes: where weights are packed, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab
from tests.small_programs import Net, normal
from trimtab.errors import PlanError, ProgramError
from trimtab.planner.plan_file import Choice, Plan
from trimtab.program import Op, Program

GROUPS, COLUMNS = 12, 2


def planned(**choice: Any) -> Program:
    rng, net = np.random.default_rng(7), Net(x=(1, 3 * GROUPS, 6, 5))
    weights = rng.standard_normal((COLUMNS * GROUPS, 3, 3, 3), np.float32)
    program = net.finish(net("conv", "x", weights, group=GROUPS))
    program.ops[0].name = "grouped"
    return trimtab.optimize(program, plan=Plan(operators={"grouped": Choice("direct", **choice)}))


def of_type(program: Program, type: str) -> Op:
    (op,) = (op for op in program.ops if op.type == type)
    return op


def test_the_largest_divisor_that_fits_a_panel_and_16_columns_is_merged() -> None:
    program = planned(weights="load")
    conv = of_type(program, "conv")
    panel = of_type(program, "pack_merged").attributes["panel"]
    merged = conv.attributes["merged"]
    assert merged > 1
    assert merged == max(m for m in (2, 3, 4, 6, 12) if m * COLUMNS <= min(panel, 16))


def test_weights_that_are_packed_in_the_file_give_the_same_bits() -> None:
    x = normal(1, 3 * GROUPS, 6, 5)
    at_load, in_file = planned(weights="load"), planned(weights="file")
    assert "pack_merged" not in {op.type for op in in_file.ops}
    (one,), (other,) = (
        trimtab.Session(program).run({"x": x}).values() for program in (at_load, in_file)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("type", "attribute", "value", "complaint"),
    [
        ("pack_merged", "groups", 7, "no multiple"),
        ("pack_merged", "groups", 0, "no multiple"),
        ("pack_merged", "merged", 5, "no multiple"),
        ("pack_merged", "merged", 0, "no multiple"),
        ("pack_merged", "channels", 4, "do not fit the weights"),
        ("pack_merged", "channels", 2**40, "do not fit the weights"),
        ("pack_merged", "panel", 1, "do not fit a panel"),
        ("conv", "merged", 5, "no multiple of the merged"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(
    type: str, attribute: str, value: int, complaint: str
) -> None:
    program = planned(weights="load")
    of_type(program, type).attributes[attribute] = value
    with pytest.raises(ProgramError, match=complaint):
        trimtab.Session(program)


@pytest.mark.parametrize("merged", [5, 64])
def test_a_plan_with_another_number_is_an_error(merged: int) -> None:
    with pytest.raises(PlanError, match=f"merged cannot be {merged}"):
        planned(values={"merged": merged})
