"""The order of passes, what they may assume, and the graph edits they are made of."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.small_programs import Net, normal, types
from trimtab import passes
from trimtab.passes._graph import Graph
from trimtab.program.min_cut import SINK, SOURCE, MinCut


def test_passes_run_by_rising_distinct_order_and_say_what_they_do() -> None:
    orders = [p.ORDER for p in passes.passes().values()]
    assert orders == sorted(set(orders))
    for name in passes.passes():
        assert importlib.import_module(f"trimtab.passes.{name}").__doc__


def test_optimizing_leaves_the_program_alone_and_records_the_passes() -> None:
    net = Net(x=(1, 4, 5, 5))
    program = net.finish(net("relu", net.conv("x", 8)))
    optimized = passes.optimize(program)
    assert types(program) == ["conv", "relu"]
    assert optimized.source is program
    assert optimized.passes == list(passes.passes())
    assert not program.passes


def test_an_optimized_program_is_not_optimized_again() -> None:
    net = Net(x=(1, 4, 5, 5))
    once = passes.optimize(net.finish(net.conv("x", 8)))
    twice = passes.optimize(once)
    assert types(twice) == types(once)
    assert twice.passes == once.passes
    assert twice.source is once.source


def test_dead_operators_and_variables_are_removed() -> None:
    net = Net(x=(1, 4))
    net("relu", net("neg", "x"))
    program = net.finish(net("abs", "x"))
    passes.passes()["eliminate_dead_code"].run(program)
    assert types(program) == ["abs"]
    assert set(program.vars) == {"x", *program.outputs}


def test_an_edit_leaves_no_dead_code() -> None:
    net = Net(x=(1, 4))
    y = net("mul", "x", net("sigmoid", net("neg", "x")))
    program = net.finish(y)
    graph = Graph(program)
    graph.substitute(program.ops[-1], "abs", ["x"])
    assert types(program) == ["abs"]
    assert set(program.vars) == {"x", y}


def test_bypassing_the_maker_of_an_output_keeps_the_output_name() -> None:
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


def test_equal_operators_become_one() -> None:
    net = Net(x=(1, 4))
    a, b = net("exp", "x"), net("exp", "x")
    program = net.finish(net("add", net("neg", a), net("neg", b)))
    passes.passes()["merge_duplicates"].run(program)
    assert types(program) == ["exp", "neg", "add"]


def test_operators_that_differ_in_an_attribute_stay_two() -> None:
    net = Net(x=(1, 4))
    program = net.finish(net("add", net("elu", "x", alpha=1.0), net("elu", "x", alpha=0.5)))
    passes.passes()["merge_duplicates"].run(program)
    assert types(program) == ["elu", "elu", "add"]


def test_constant_operands_of_commutative_operators_go_second() -> None:
    net = Net(x=(1, 4))
    program = net.finish(net("sub", 2.0, net("add", 1.0, "x")))
    passes.passes()["canonicalize_operands"].run(program)
    assert program.ops[0].inputs[0] == "x"
    assert program.ops[1].inputs[0] != program.ops[0].outputs[0]


@pytest.mark.parametrize("seed", range(20))
def test_a_minimum_cut_is_as_cheap_as_the_best_of_all_cuts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cut, inner = MinCut(), 5
    nodes = [SOURCE, SINK, *(cut.node() for _ in range(inner))]
    edges = []
    for _ in range(14):
        a, b = rng.choice(nodes, 2, replace=False)
        edges.append((int(a), int(b), int(rng.integers(1, 10))))
        cut.add(*edges[-1])

    def cost(side: set[int]) -> int:
        return sum(c for a, b, c in edges if a in side and b not in side)

    sides = [
        {SOURCE, *(n for i, n in enumerate(nodes[2:]) if bits >> i & 1)} for bits in range(2**inner)
    ]
    assert cost(cut.source_side()) == min(map(cost, sides))


def test_a_session_gives_what_the_unoptimized_network_gives() -> None:
    net = Net(x=(1, 3, 9, 11))
    x = net("relu", net.conv("x", 8, 3))
    y = net("add", net.conv(x, 8, 3, group=8), x)
    program = net.finish(net("softmax", net("reshape", y, shape=[1, 8 * 99]), axis=1))
    inputs = {"x": normal(1, 3, 9, 11)}
    (result,) = trimtab.Session(program).run(inputs).values()
    assert result.shape == (1, 792)
    assert result.sum() == pytest.approx(1, abs=1e-5)


def test_the_documentation_lists_every_pass_in_order(root: Path) -> None:
    rows = re.findall(r"^\| `(\w+)` +\|", (root / "docs" / "passes.md").read_text(), re.M)
    assert rows == list(passes.passes())
