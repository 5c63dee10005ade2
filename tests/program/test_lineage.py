"""The lineage of operators through passes and planning."""

from __future__ import annotations

from tests.small_programs import Net
from trimtab import passes
from trimtab.planner import planner
from trimtab.program import inspection, lineage
from trimtab.target import Target


def test_a_fused_operator_maps_to_the_operator_that_computes_it() -> None:
    net = Net(x=(1, 8, 6, 6))
    program = net.finish(net("relu", net.conv(net("relu", net.conv("x", 8)), 8)))
    after = passes.optimize(program)
    assert [op.type for op in program.ops] == ["conv", "relu", "conv", "relu"]
    runs = [i for i, op in enumerate(after.ops) if op.type == "conv"]
    assert lineage.successors(program, after) == [runs[0], runs[0], runs[1], runs[1]]


def test_a_depthwise_convolution_maps_to_the_following_separable_one() -> None:
    net = Net(x=(1, 16, 112, 112))
    program = net.finish(net.conv(net("relu", net.conv("x", 16, 3, group=16)), 16))
    planned = planner.plan(passes.optimize(program), Target.of("aarch64", "cortex-a53"))
    assert "conv_separable" in [op.type for op in planned.ops]
    places = [i for i, op in enumerate(planned.ops) if op.type == "conv_separable"]
    assert lineage.successors(program, planned) == 3 * places


def test_a_record_has_the_inputs_and_the_successor_of_each_operator() -> None:
    net = Net(x=(1, 8, 6, 6))
    program = net.finish(net("relu", net.conv("x", 8)))
    planned = planner.plan(passes.optimize(program), Target.of("aarch64", "cortex-a53"))
    description = inspection.network(planned, program)
    assert [op["label"].split()[0] for op in description["before"]] == ["conv", "relu"]
    (place,) = {op["becomes"] for op in description["before"]}
    assert description["operators"][place]["label"].startswith("conv")
    assert not description["operators"][place]["prepares"]
    assert all(
        source < i for i, op in enumerate(description["operators"]) for source in op["reads"]
    )
