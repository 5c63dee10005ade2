"""The memory of computed tensors against the plan of the engine."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab
from trimtab.program import Program
from trimtab.program.memory import activation_bytes, lifetimes

SHAPE = (1, 4, 8, 8)
BYTES = 4 * 4 * 8 * 8


def chain(*steps: tuple[str, ...]) -> Program:
    """Operators and the numbers of their operands: 0 is the input, n the nth result."""
    program = Program("chain")
    names = [program.add_input("x", SHAPE)]
    for op, *operands in steps:
        names += program.block.add_op(op, [names[int(i)] for i in operands])
    program.outputs = names[-1:]
    return program


@pytest.mark.parametrize(
    ("steps", "tensors"),
    [
        ([("relu", "0")], 1),
        ([("relu", "0"), ("sigmoid", "1"), ("relu", "2")], 1),  # each in place of the one before
        ([("relu", "0"), ("sigmoid", "1"), ("add", "2", "1"), ("relu", "3")], 2),
        ([("relu", "0"), ("sigmoid", "0"), ("tanh", "0"), ("add", "1", "2"), ("add", "4", "3")], 3),
    ],
)
def test_the_peak_is_that_of_the_arena_of_the_engine(
    steps: list[tuple[str, ...]], tensors: int
) -> None:
    program = chain(*steps)
    assert activation_bytes(program) == tensors * BYTES
    session = trimtab.Session(trimtab.optimize(program))
    assert session.memory["arena_bytes"] == activation_bytes(session.program)


def test_a_result_in_place_shares_the_lifetime_of_its_input() -> None:
    program = chain(("relu", "0"), ("sigmoid", "1"), ("relu", "2"))
    ((first, last),) = [(one.first, one.last) for one in lifetimes(program)]
    assert (first, last) == (0, 3)


def test_a_tensor_that_an_operator_also_reads_out_of_place_is_not_overwritten() -> None:
    """A convolution may write its result over the residual, but not over what it multiplies."""
    program = Program("twice")
    (x,) = program.block.add_op("relu", [program.add_input("x", SHAPE)])
    w = program.block.add_constant(np.ones((4, 4, 1, 1), np.float32))
    program.outputs = program.block.add_op("conv", [x, w, "", x])
    assert activation_bytes(program) == 2 * BYTES
    session = trimtab.Session(trimtab.optimize(program))
    assert session.memory["arena_bytes"] >= 2 * BYTES  # and what the convolution needs itself
