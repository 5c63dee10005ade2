"""The index of a graph after edits: it equals one that is made anew."""

from __future__ import annotations

import trimtab
from trimtab import passes
from trimtab.passes._graph import Graph
from trimtab.program import Program
from trimtab.zoo import cached


def check(graph: Graph) -> None:
    anew = Graph(graph.program)
    for op in graph.ops():
        assert graph.alive(op)
        for name in (*op.inputs, *op.outputs):
            assert graph.producer(name) is anew.producer(name)
            assert [*map(id, graph.readers(name))] == [*map(id, anew.readers(name))]


def chain() -> Program:
    program = Program("chain")
    x = program.add_input("x", (1, 4, 6, 6))
    for i in range(4):
        (y,) = program.block.add_op("relu", [x], outputs=[f"relu{i}"])
        (z,) = program.block.add_op("sigmoid", [x], outputs=[f"sigmoid{i}"])
        (x,) = program.block.add_op("add", [y, z], outputs=[f"add{i}"])
    program.outputs = [x]
    return program


def test_the_index_is_right_after_every_edit() -> None:
    graph = Graph(chain())
    relu, sigmoid, add, *_ = graph.ops()
    check(graph)
    assert graph.bypass(relu)
    check(graph)
    assert not graph.alive(relu)
    graph.set_inputs(add, ["x", "x"])  # the sigmoid has no reader now
    check(graph)
    assert not graph.alive(sigmoid)
    graph.substitute(add, "mul", ["x", "x"])
    check(graph)
    graph.replace_uses("relu1", "sigmoid1")
    check(graph)
    last = graph.ops("add")[-1]
    graph.insert_before(last, graph.block.make_op("relu", [last.inputs[0]], outputs=["new"]))
    check(graph)


def test_passes_leave_the_index_right() -> None:
    program = passes.optimize(trimtab.load(cached("mobilenet_v3_small")))
    check(Graph(program))
