"""What became of a network's operators."""

from __future__ import annotations

from tests.small_programs import Net
from trimtab import passes
from trimtab.planner import planner
from trimtab.program import inspection, lineage
from trimtab.target import Target


def test_what_is_fused_belongs_to_the_operator_that_computes_it_now() -> None:
    net = Net(x=(1, 8, 6, 6))
    program = net.finish(net("relu", net.conv(net("relu", net.conv("x", 8)), 8)))
    after = passes.optimize(program)
    assert [op.type for op in program.ops] == ["conv", "relu", "conv", "relu"]
    runs = [i for i, op in enumerate(after.ops) if op.type == "conv"]
    assert lineage.successors(program, after) == [runs[0], runs[0], runs[1], runs[1]]


def test_a_depthwise_convolution_belongs_to_the_separable_one_behind_it() -> None:
    net = Net(x=(1, 16, 112, 112))
    program = net.finish(net.conv(net("relu", net.conv("x", 16, 3, group=16)), 16))
    planned = planner.plan(passes.optimize(program), Target.of("aarch64", "cortex-a53"))
    assert "conv_separable" in [op.type for op in planned.ops]
    places = [i for i, op in enumerate(planned.ops) if op.type == "conv_separable"]
    assert lineage.successors(program, planned) == 3 * places


def test_a_record_knows_what_each_operator_reads_and_became() -> None:
    net = Net(x=(1, 8, 6, 6))
    program = net.finish(net("relu", net.conv("x", 8)))
    planned = planner.plan(passes.optimize(program), Target.of("aarch64", "cortex-a53"))
    told = inspection.network(planned, program)
    assert [op["label"].split()[0] for op in told["before"]] == ["conv", "relu"]
    (place,) = {op["becomes"] for op in told["before"]}
    assert told["operators"][place]["label"].startswith("conv")
    assert not told["operators"][place]["prepares"]
    assert all(source < i for i, op in enumerate(told["operators"]) for source in op["reads"])
