"""The order of the operators that read and replace states."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import trimtab
from tests.small_programs import Net
from trimtab import modelfile, passes
from trimtab.errors import ProgramError
from trimtab.program import Program, states

ZEROS = np.zeros((2, 3), np.float32)


def stream() -> tuple[Net, str]:
    """A program in the making with the state that begins with zeros."""
    net = Net(x=(2, 3))
    return net, net("state", ZEROS)


def late_reader() -> Program:
    net, state = stream()
    net("update_state", state, "x")
    return net.finish(net("add", state, "x"))


def late_reader_of_a_view() -> Program:
    net, state = stream()
    view = net("reshape", state, shape=(3, 2))
    net("update_state", state, "x")
    return net.finish(net("relu", view))


def second_update() -> Program:
    net, state = stream()
    net("update_state", state, "x")
    return net.finish(net("update_state", state, net("relu", "x")))


def late_output() -> Program:
    net, state = stream()
    view = net("reshape", state, shape=(6,))
    net("update_state", state, "x")
    return net.finish(view)


def in_order() -> Program:
    net, state = stream()
    y = net("add", net("reshape", state, shape=(2, 3)), "x")
    return net.finish(net("update_state", state, y))


@pytest.mark.parametrize("make", [late_reader, late_reader_of_a_view, second_update, late_output])
def test_whatever_uses_a_state_after_its_update_is_refused(
    make: type[Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = make()
    with pytest.raises(ProgramError, match=r"the state .* has replaced") as refused:
        modelfile.encode(program)
    assert "before it is replaced" in refused.value.hint
    with pytest.raises(ProgramError, match="has replaced"):
        trimtab.Session(program)
    states.check(in_order())

    def spoil(other: Program) -> None:
        other.block.ops[:], other.outputs = program.copy().ops, program.outputs
        other.block.vars.update(program.copy().vars)

    monkeypatch.setattr(passes, "passes", lambda: {"spoil": SimpleNamespace(run=spoil)})
    with pytest.raises(ProgramError, match="has replaced"):
        passes.optimize(in_order())


def test_a_state_that_is_read_before_its_update_sums_all_inputs() -> None:
    session = trimtab.Session(in_order())
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for run in range(1, 4):
        (y,) = session.run(x).values()
        np.testing.assert_array_equal(y, run * x)
