"""Removal of dead code."""

from __future__ import annotations

from tests.small_programs import Net, types
from trimtab import passes


def test_dead_operators_and_variables_are_removed() -> None:
    net = Net(x=(1, 4))
    net("relu", net("neg", "x"))
    program = net.finish(net("abs", "x"))
    passes.passes()["eliminate_dead_code"].run(program)
    assert types(program) == ["abs"]
    assert set(program.vars) == {"x", *program.outputs}
