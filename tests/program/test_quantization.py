"""Quantizations: validation, propagation and storage."""

from __future__ import annotations

import math

import numpy as np
import pytest

import trimtab
from tests.small_programs import types
from trimtab.errors import ProgramError
from trimtab.program import Program, Quantization, Var, inspection
from trimtab.target import Target

PORTABLE = Target.of("riscv64")
HALVES = Quantization.of(0.5, 3)


def made(quantization: Quantization, dtype: str = "i8", shape: tuple[int, ...] = (2, 3)) -> Var:
    return Var("v", shape, dtype, quantization=quantization)


@pytest.mark.parametrize(
    ("quantization", "dtype", "reason"),
    [
        (HALVES, "f32", "elements of type f32 cannot be quantized"),
        (HALVES, "i64", "elements of type i64 cannot be quantized"),
        (Quantization.of([1, 2, 3], 0, 2), "i8", "there is no axis 2"),
        (Quantization.of([1, 2, 3], 0, -1), "i8", "there is no axis -1"),
        (Quantization.of([1, 2, 3], 0, 0), "i8", "3 scales and 3 zero points, .* 2 of each"),
        (Quantization.of([1, 2, 3]), "i8", "3 scales and 3 zero points, .* 1 of each"),
        (Quantization.of([1, 2, 3], [1, 2], 1), "i8", "3 scales and 2 zero points"),
        (Quantization.of(0), "i8", "scale 0 is 0.0"),
        (Quantization.of([1, -2, 3], 0, 1), "i8", "scale 1 is -2.0"),
        (Quantization.of(math.nan), "i8", "scale 0 is nan"),
        (Quantization.of(1e39), "i8", "scale 0 is inf"),
        (Quantization.of(1, 128), "i8", "zero point 0 is 128, which i8 cannot hold"),
        (Quantization.of(1, -129), "i8", "zero point 0 is -129, which i8 cannot hold"),
        (Quantization.of([1, 1, 1], [0, -1, 0], 1), "u8", "zero point 1 is -1, which u8"),
        (Quantization.of(1, 2**31), "i32", "zero point 0 is 2147483648, which i32"),
    ],
)
def test_a_quantization_that_does_not_fit_is_refused_with_its_place(
    quantization: Quantization, dtype: str, reason: str
) -> None:
    with pytest.raises(ProgramError, match=reason) as caught:
        made(quantization, dtype)
    assert caught.value.where == f"variable v ({dtype} [2, 3])"
    assert "positive float32" in caught.value.hint


@pytest.mark.parametrize(
    ("quantization", "dtype"),
    [
        (Quantization.of(1e-40, -128), "i8"),
        (Quantization.of(3e38, 255), "u8"),
        (Quantization.of([1, 2, 3], 0, 1), "i32"),
        (Quantization.of([1, 2], [127, -128], 0), "i8"),
    ],
)
def test_the_limits_of_a_type_fit(quantization: Quantization, dtype: str) -> None:
    assert made(quantization, dtype).quantization == quantization


def test_scales_become_float32() -> None:
    assert Quantization.of(0.1) == Quantization.of(np.float64(0.1)) == Quantization.of([0.1])
    assert Quantization.of(0.1).scale == (float(np.float32(0.1)),)
    assert Quantization.of(np.ones(2), np.uint8(9), 0) == Quantization((1.0, 1.0), (9, 9), 0)


def test_tensors_are_checked_again_when_a_program_is_written() -> None:
    program = moved()
    program.vars["x"].quantization = Quantization.of(1, 1000)
    with pytest.raises(ProgramError, match="variable x"):
        trimtab.optimize(program, PORTABLE).save("/nowhere/net.ttm")


def moved() -> Program:
    """Quantized bytes that are joined to others, and moved about."""
    program = Program("moved")
    program.add_input("x", (1, 4, 3, 2), "i8")
    program.vars["x"].quantization = HALVES
    block = program.block
    other = block.add_constant(np.ones((1, 2, 3, 2), np.int8), "other", HALVES)
    (y,) = block.add_op("concat", ["x", other], {"axis": 1})
    (y,) = block.add_op("channel_shuffle", [y], {"group": 2})
    (y,) = block.add_op("transpose", [y], {"permutation": (0, 2, 3, 1)})
    (y,) = block.add_op("reshape", [y], {"shape": (6, 6)}, ["y"])
    program.outputs = [y]
    return program


def test_data_movement_propagates_the_quantization() -> None:
    program = moved()
    assert {var.quantization for var in program.vars.values()} == {HALVES}
    (mixed,) = program.block.add_op(
        "concat", ["x", program.block.add_constant(np.ones((1, 1, 3, 2), np.int8))], {"axis": 1}
    )
    (real,) = program.block.add_op("cast", ["x"], {"to": "f32"})
    assert program.vars[mixed].quantization is program.vars[real].quantization is None


def test_a_per_axis_quantization_is_not_propagated_through_data_movement() -> None:
    program = Program("w")
    scales = Quantization.of([1, 2, 3], 0, 1)
    w = program.block.add_constant(np.ones((2, 3), np.int8), "w", scales)
    (turned,) = program.block.add_op("transpose", [w], {"permutation": (1, 0)})
    assert program.vars[turned].quantization is None


def test_an_optimized_program_is_quantized_as_before() -> None:
    optimized = trimtab.optimize(moved(), PORTABLE)
    assert "convert_layout" in types(optimized)
    assert {var.quantization for var in optimized.vars.values()} == {HALVES}


def test_a_folded_constant_keeps_its_quantization() -> None:
    program = Program("folded")
    program.add_input("x", (3, 2), "i8")
    w = program.block.add_constant(np.ones((2, 3), np.int8), "w", HALVES)
    (w,) = program.block.add_op("transpose", [w], {"permutation": (1, 0)}, ["turned"])
    program.vars[w].quantization = Quantization.of([1, 2, 3], 0, 0)
    program.outputs = program.block.add_op("concat", ["x", w], {"axis": 0})
    folded = trimtab.optimize(program, PORTABLE)
    assert types(folded) == ["concat"]
    assert folded.vars["turned"].quantization == Quantization.of([1, 2, 3], 0, 0)


def test_constants_with_equal_bytes_and_other_quantizations_are_not_merged() -> None:
    def twins(quantization: Quantization) -> Program:
        program = Program("twins")
        program.add_input("x", (1, 4), "i8")
        names = [
            name
            for _ in range(2)
            for name in program.block.add_op("tile", ["x"], {"repeats": (1, 2)})
        ]
        program.vars[names[0]].quantization = HALVES
        program.vars[names[1]].quantization = quantization
        program.outputs = program.block.add_op("concat", names, {"axis": 1})
        return trimtab.optimize(program, PORTABLE)

    assert types(twins(HALVES)).count("tile") == 1
    assert types(twins(Quantization.of(0.25))).count("tile") == 2


def test_a_reshape_that_changes_only_the_quantization_is_kept() -> None:
    def still(quantization: Quantization) -> Program:
        program = Program("still")
        program.add_input("x", (4,), "i8")
        program.vars["x"].quantization = HALVES
        (y,) = program.block.add_op("reshape", ["x"], {"shape": (4,)})
        program.vars[y].quantization = quantization
        program.outputs = program.block.add_op("tile", [y], {"repeats": (2,)})
        return trimtab.optimize(program, PORTABLE)

    assert types(still(HALVES)) == ["tile"]
    assert types(still(Quantization.of(0.25))) == ["reshape", "tile"]


def test_inspection_shows_quantizations() -> None:
    program = moved()
    program.vars["other"].quantization = Quantization.of([0.5, 0.125], [3, -1], 1)
    facts = inspection.inspect(program)
    assert facts.quantized["x"] == HALVES
    assert str(facts.quantized["x"]) == "scale 0.5, zero point 3"
    assert (
        str(facts.quantized["other"]) == "2 along axis 1: scales 0.125 to 0.5, zero points -1 to 3"
    )


def test_scales_of_dead_channels_become_the_smallest_of_the_others() -> None:
    quantization = Quantization((0.5, 0.0, 0.25), (1, 2, 3), 0)
    assert quantization.with_live_scales().scale == (0.5, 0.25, 0.25)
    assert Quantization((0.0,), (0,)).with_live_scales().scale == (2.0**-16,)
    assert Quantization((0.5,), (0,)).with_live_scales() == Quantization((0.5,), (0,))
