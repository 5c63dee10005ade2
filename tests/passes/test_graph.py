"""Edits of a graph."""

from __future__ import annotations

from tests.small_programs import Net, types
from trimtab.passes._graph import Graph


def test_an_edit_leaves_no_dead_code() -> None:
    net = Net(x=(1, 4))
    y = net("mul", "x", net("sigmoid", net("neg", "x")))
    program = net.finish(y)
    graph = Graph(program)
    graph.substitute(program.ops[-1], "abs", ["x"])
    assert types(program) == ["abs"]
    assert set(program.vars) == {"x", y}


def test_bypassing_the_producer_of_an_output_keeps_the_output_name() -> None:
    net = Net(x=(1, 4))
    middle = net("neg", "x")
    y = net("relu", middle)
    program = net.finish(y)
    assert Graph(program).bypass(program.ops[-1])
    assert program.ops[0].outputs == [y]
    assert middle not in program.vars


def test_an_operator_between_input_and_output_cannot_be_bypassed() -> None:
    net = Net(x=(1, 4))
    program = net.finish(net("relu", "x"))
    assert not Graph(program).bypass(program.ops[0])
    assert types(program) == ["relu"]
