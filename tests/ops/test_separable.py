"""Depthwise convolutions fused with the 1x1 convolutions around them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import trimtab
from tests.engine.raw_runs import run_arrays
from tests.ops import oracle
from tests.ops.cases.case import normal
from tests.ops.cases.separable import FUSED, Chain
from tests.small_programs import Net, types
from trimtab import _engine, modelfile, passes
from trimtab.errors import PlanError
from trimtab.planner import algorithms, planner
from trimtab.planner.plan_file import Choice, Plan, operator_keys, plan_of
from trimtab.program import Program
from trimtab.target import Target

A53 = Target.of("aarch64", "cortex-a53")
APART = tuple(name for name in algorithms.names() if name not in FUSED)


EXPAND, PROJECT, BOTH = (Chain(kind) for kind in FUSED)
CHAINS = [
    EXPAND,
    PROJECT,
    BOTH,
    replace(BOTH, kernel=(5, 5), strides=(2, 2), pads=(2, 2, 2, 2), n=3, block=2),
    replace(BOTH, kernel=(7, 7), strides=(2, 2), pads=(3, 2, 3, 4), activation="HardSwish"),
    replace(BOTH, kernel=(3, 5), strides=(3, 1), pads=(0, 2, 1, 1), activation="Sigmoid", block=1),
    replace(BOTH, kernel=(3, 3), dilations=(3, 2), pads=(3, 2, 3, 2), block=4),
    replace(BOTH, kernel=(1, 1), strides=(3, 3), pads=(0, 0, 0, 0)),
    replace(BOTH, kernel=(3, 3), strides=(1, 1), pads=(5, 0, 6, 3), n=2, block=2),
    replace(PROJECT, residual=True, middle=16, n=2, kernel=(5, 5), pads=(2, 2, 2, 2)),
    replace(PROJECT, kernel=(3, 3), strides=(2, 1), pads=(1, 0, 0, 1), n=2, block=1),
    replace(EXPAND, kernel=(5, 3), strides=(2, 2), pads=(2, 1, 2, 1), n=2, activation=""),
    replace(EXPAND, kernel=(3, 3), strides=(2, 2), middle=64, height=2, width=2, n=4, block=8),
    replace(BOTH, height=1, width=1, middle=3, out=1, block=100),
]


def fused(chain: Chain, program: Program) -> Plan:
    """The plan that fuses the chain into the last possible operator."""
    optimized = passes.optimize(program)
    for op in reversed(optimized.ops):
        if chain.kind in algorithms.lower(optimized, op, Target.host()):
            return Plan(APART, {op.name: Choice(chain.kind, {"block": chain.block})})
    raise AssertionError(f"no operator can be computed by {chain.kind}")


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_results_are_those_of_the_convolutions(chain: Chain, threads: int) -> None:
    case = chain.case()
    program = trimtab.load(case.model)
    session = trimtab.Session(program, threads, fused(chain, program))
    assert types(session.program).count("conv_separable") == 1
    oracle.assert_agree(case, session.run(case.inputs), oracle.expected(case))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kind", FUSED)
def test_sizes_may_change(kind: str, threads: int) -> None:
    chain = replace(BOTH, kind=kind, strides=(2, 1), n=2)
    program = trimtab.load(chain.case().model)
    plan = fused(chain, program)
    image = modelfile.encode(trimtab.optimize(program, None, plan))
    engine = _engine.Executor(image, threads)
    for n, height, width in ((1, 3, 40), (3, 31, 2), (2, 19, 13), (1, 1, 1)):
        other = replace(chain, n=n, height=height, width=width).case()
        engine.resize_input(0, (n, chain.c, height, width))
        (actual,) = run_arrays(engine, list(other.inputs.values()))
        (want,) = oracle.expected(other).values()
        np.testing.assert_allclose(actual, want, 1e-4, 2e-5 * np.abs(want).max())


def fusions(planned: Program) -> list[str]:
    """The algorithms of a plan's fused operators."""
    result = [algorithms.algorithm_of(op) for op in planned.ops if op.type == "conv_separable"]
    return [algorithm.name for algorithm in result if algorithm]


def branches(*, read: bool = False) -> Program:
    """Two halves of an image through two chains, concatenated; `read`: another operator also reads
    the tensor between the convolutions of one chain.
    """
    net = Net(x=(2, 3, 60, 50))
    left, right = net.many("split", 2, net.conv("x", 24), axis=1, sizes=[10, 14])
    sides = []
    for x, c in ((left, 10), (right, 14)):
        wide = net("relu", net.conv(x, 96))
        deep = net("relu", net.conv(wide, 96, 3, group=96))
        sides.append(net.conv(deep, c))
    both = net("concat", *sides, axis=1)
    outputs = [net.conv(both, 4)]
    return net.finish(*outputs, net.conv(deep, 2)) if read else net.finish(*outputs)


def test_fused_operators_read_and_write_slices_of_large_images() -> None:
    program = passes.optimize(branches())
    planned = planner.plan(program, A53)
    assert fusions(planned) == ["expand_depthwise_project"] * 2
    ops = [op for op in planned.ops if op.type == "conv_separable"]
    assert all(planned.vars[op.inputs[0]].parent for op in ops)
    assert all(planned.vars[op.outputs[0]].parent for op in ops)
    assert {"split", "concat"}.isdisjoint(types(planned))
    inputs = {"x": normal(2, 3, 60, 50)}
    (want,) = trimtab.Session(planner.plan(program, A53, Plan(APART))).run(inputs).values()
    for threads in (1, 4):
        (actual,) = trimtab.Session(planned, threads).run(inputs).values()
        np.testing.assert_allclose(actual, want, 1e-4, 1e-5 * float(np.abs(want).max()))


def test_a_tensor_with_other_readers_prevents_fusion() -> None:
    program = passes.optimize(branches(read=True))
    planned = planner.plan(program, A53)
    assert sorted(fusions(planned)) == ["expand_depthwise", "expand_depthwise_project"]


def chain_of(size: int, middle: int = 96) -> Program:
    net = Net(x=(1, 16, size, size))
    wide = net.conv("x", middle)
    return net.finish(net.conv(net.conv(wide, middle, 3, group=middle), 16))


def fused_for(program: Program, target: Target) -> list[str]:
    return fusions(planner.plan(passes.optimize(program), target))


def test_tensors_that_fit_the_cache_are_not_fused() -> None:
    assert fused_for(chain_of(16), A53) == []
    assert fused_for(chain_of(64), A53) == ["expand_depthwise_project"]


def test_rows_that_exceed_the_cache_are_not_fused() -> None:
    assert fused_for(chain_of(64, middle=2048), A53) == []


def test_a_plan_may_forbid_fusion_and_must_be_consistent() -> None:
    program = passes.optimize(chain_of(64))
    assert "conv_separable" not in types(planner.plan(program, A53, Plan(APART)))
    first, _, last = [
        key
        for key, op in zip(operator_keys(program), program.ops, strict=True)
        if op.type == "conv"
    ]
    apart = Plan(operators={first: Choice("direct")})
    assert fusions(planner.plan(program, A53, apart)) == ["depthwise_project"]
    both = {first: Choice("direct"), last: Choice("expand_depthwise_project")}
    with pytest.raises(PlanError, match="and also an algorithm that absorbs it"):
        planner.plan(program, A53, Plan(operators=both))


def test_planning_with_the_resulting_plan_reproduces_it() -> None:
    program = passes.optimize(chain_of(64))
    planned = planner.plan(program, A53)
    again = planner.plan(program, A53, plan_of(planned))
    assert [(op.type, op.attributes) for op in again.ops] == [
        (op.type, op.attributes) for op in planned.ops
    ]


@pytest.mark.parametrize("port", ["w", "expand", "project", "bias", "expand_bias", "project_bias"])
def test_weights_that_are_too_short_are_refused(port: str) -> None:
    planned = planner.plan(passes.optimize(chain_of(64)), A53)
    (op,) = (op for op in planned.ops if op.type == "conv_separable")
    var = planned.vars[op.operand(port)]
    assert var.data is not None
    var.data = np.asarray(var.data)[:8]
    with pytest.raises(_engine.EngineError, match="too short"):
        _engine.Executor(modelfile.encode(planned))
