"""How large a tensor may be: one limit, in the engine and in Python, from input to arena."""

from __future__ import annotations

import numpy as np
import pytest

import trimtab
from trimtab import _engine
from trimtab.errors import ProgramError
from trimtab.program import MAX_ELEMENTS, Program, Var

ROWS = MAX_ELEMENTS // 4


def test_the_engine_and_python_have_one_limit() -> None:
    assert _engine.MAX_ELEMENTS == MAX_ELEMENTS


@pytest.mark.parametrize("shape", [(ROWS + 1, 4), (2**31 - 1,), (0, MAX_ELEMENTS + 1), (4, -1)])
def test_a_variable_beyond_the_limit_is_refused_by_name(shape: tuple[int, ...]) -> None:
    with pytest.raises(ProgramError, match="too large") as caught:
        Var("v", shape)
    assert caught.value.where == "variable v"
    assert "134,217,728" in caught.value.hint


def test_an_input_may_have_as_many_elements_as_the_limit_and_no_more() -> None:
    program = Program("large")
    program.add_input("x", (ROWS, 4))
    assert program.vars["x"].count == MAX_ELEMENTS
    with pytest.raises(ProgramError, match="too large"):
        program.add_input("y", (ROWS, 4, 2))


def test_an_operator_cannot_make_more_than_the_limit() -> None:
    program = Program("large")
    program.add_input("x", (ROWS, 4))
    program.block.add_op("reshape", ["x"], {"shape": (4, ROWS)})
    with pytest.raises(ProgramError, match="too large"):
        program.block.add_op("concat", ["x", "x"], {"axis": 0})


def test_scratch_memory_is_limited_as_the_arena_is() -> None:
    """top_k needs 8 bytes for each element that is wanted, in each thread; an arena has 2^30."""
    program = Program("scratch")
    program.add_input("x", (1, 2**25))
    program.outputs = program.block.add_op("top_k", ["x"], {"k": 2**21 + 1}, 2)
    assert trimtab.Session(program).memory["arena_bytes"] < 2**30
    with pytest.raises(ProgramError, match=r"scratch memory is too large \(\d+\)"):
        trimtab.Session(program, threads=64)


def test_indices_of_an_empty_tensor_are_within_the_limit() -> None:
    assert Var("v", (0, 3), data=np.empty((0, 3), np.float32)).count == 0


def test_a_new_program_is_for_one_thread_and_its_tensors_are_whole() -> None:
    program = Program("new")
    program.add_input("x", (1, 2))
    x = program.vars["x"]
    assert (program.threads, program.planned) == (1, False)
    assert (x.parent, x.channel, x.packed, x.layout) == ("", 0, False, "plain")
