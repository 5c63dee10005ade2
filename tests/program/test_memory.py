"""The memory of computed tensors against the plan of the engine."""

from __future__ import annotations

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
