"""The contract of every algorithm: the results of the direct one, and valid plans."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

import trimtab
from tests.some import some
from trimtab import kernels, schema
from trimtab.errors import SchemaError
from trimtab.kernels import Kernel
from trimtab.planner import algorithms, planner
from trimtab.planner.algorithms import Algorithm, direct
from trimtab.planner.kernel_selection import KernelSelection
from trimtab.planner.plan_file import Choice, Plan
from trimtab.program import Op, Program
from trimtab.target import Target

ARMS = [Target.of("aarch64", "cortex-a53"), Target.of("armv7", "cortex-a7")]
TARGETS = [*ARMS, Target.of("x86_64", "skylake-avx512"), Target.portable()]


@dataclass(frozen=True)
class Case:
    """One operator, and earlier ones that an algorithm may fuse with it. An algorithm that computes
    none of the cases below needs a new case.
    """

    type: str
    x: tuple[int, ...]
    w: tuple[int, ...]
    attributes: dict[str, object] = field(default_factory=dict)
    before: tuple[Case, ...] = ()
    residual: bool = False


CASES = {
    "matrix": Case("gemm", (5, 37), (67, 37)),
    "1x1": Case("conv", (2, 34, 5, 7), (67, 34, 1, 1)),
    "3x3": Case("conv", (1, 17, 13, 11), (35, 17, 3, 3), {"pads": (1, 0, 1, 2)}),
    "3x3 with strides": Case(
        "conv", (1, 17, 13, 11), (35, 17, 3, 3), {"pads": (1, 0, 1, 2), "strides": (2, 2)}
    ),
    "3x3 dilated": Case(
        "conv", (2, 17, 13, 11), (35, 17, 3, 3), {"pads": (3, 1, 3, 4), "dilations": (3, 3)}
    ),
    "3x3 beyond the image": Case(
        "conv", (2, 17, 9, 12), (35, 17, 3, 3), {"pads": (8, 9, 8, 9), "dilations": (8, 9)}
    ),
    "4x4": Case("conv", (1, 17, 13, 11), (35, 17, 4, 4), {"pads": (1, 2, 2, 1)}),
    "5x5": Case("conv", (2, 18, 9, 7), (19, 18, 5, 5), {"pads": (2, 2, 2, 2)}),
    "squares of pixels": Case("conv", (1, 3, 15, 17), (17, 3, 7, 7), {"strides": (2, 2)}),
    "groups": Case("conv", (1, 15, 9, 7), (9, 5, 3, 3), {"group": 3, "dilations": (2, 1)}),
    "one channel per group": Case("conv", (2, 21, 9, 7), (21, 1, 3, 3), {"group": 21}),
    "transposed": Case(
        "conv_transpose", (1, 6, 5, 7), (6, 7, 3, 3), {"strides": (2, 1), "group": 2}
    ),
}
_EXPAND = Case("conv", (2, 5, 9, 11), (21, 5, 1, 1), {"activation": "hard_swish"})
_WINDOW = {"group": 21, "pads": (1, 2, 1, 0), "clamp_max": 1.5}
CASES |= {
    "1x1, then one channel per group": Case(
        "conv", (2, 21, 9, 11), (21, 1, 5, 3), _WINDOW | {"strides": (2, 1)}, (_EXPAND,)
    ),
    "one channel per group, then 1x1": Case(
        "conv",
        (2, 21, 9, 11),
        (18, 21, 1, 1),
        {"activation": "sigmoid"},
        (Case("conv", (2, 21, 9, 11), (21, 1, 3, 3), _WINDOW | {"dilations": (2, 1)}),),
    ),
    "one channel per group between 1x1": Case(
        "conv",
        (2, 21, 9, 9),
        (5, 21, 1, 1),
        {},
        (_EXPAND, Case("conv", (2, 21, 9, 11), (21, 1, 3, 5), {"group": 21, "pads": (1, 2, 1, 2)})),
        residual=True,
    ),
}
ALGORITHMS = algorithms.registry()
STORED = (("file", "f32"), ("load", "f32"), ("load", "f16"))


def program_of(case: Case) -> tuple[Program, dict[str, NDArray[np.float32]]]:
    """A program whose last operator, called "op", has a bias, and its inputs."""
    rng = np.random.default_rng(len(case.x) + sum(case.w))
    program = Program("net")
    chain = [*case.before, case]
    program.add_input("x", chain[0].x)
    program.outputs = ["x"]
    for i, link in enumerate(chain):
        w = rng.standard_normal(link.w, np.float32)
        outputs = link.w[0] if link.type != "conv_transpose" else 2 * link.w[1]
        bias = rng.standard_normal(outputs, np.float32)
        constants = [program.block.add_constant(w, "w"), program.block.add_constant(bias, "bias")]
        inputs = [*program.outputs, *constants, *(["x"] if link.residual else [])]
        attributes = {"clamp_min": -1.0, **link.attributes}
        name = "op" if link is case else f"before{i}"
        program.outputs = program.block.add_op(link.type, inputs, attributes, [f"y{i}"], name)
    return program, {"x": rng.standard_normal(chain[0].x, np.float32)}


def lowered(name: str) -> Iterator[tuple[str, Program, Op, Target]]:
    """(case, program, lowered operator, target) for each case that the algorithm can compute."""
    for case, described in CASES.items():
        program, _ = program_of(described)
        for target in TARGETS:
            if op := algorithms.lower(program, program.ops[-1], target).get(name):
                yield case, program, op, target


def fitting(
    algorithm: Algorithm, program: Program, op: Op, attribute: schema.Attribute, target: Target
) -> list[Kernel]:
    members = [k for k in kernels.inventory().values() if k.family in attribute.families]
    here = [k for k in members if k.isa in target.isas]
    own = [k for k in here if k.dtype == program.dtype(op)]
    return [k for k in own if algorithm.fits(program, op, attribute, k)]


# The cases are float32: int8 algorithms have no direct variant; tests/ops/test_quantized.py
# compares them with onnxruntime.
FLOAT = {name: a for name, a in ALGORITHMS.items() if not name.startswith("quantized")}


@pytest.mark.parametrize("name", FLOAT)
def test_an_algorithm_computes_what_the_direct_one_does(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = set()
    isas = Target.host().isas  # before the variable is set: the engine reads it once
    direct_in_file = Plan((algorithms.DIRECT,), prefer="load")
    for (case, described), (weights, dtype) in itertools.product(CASES.items(), STORED):
        program, inputs = program_of(described)
        for var in program.constants() if dtype == "f16" else ():
            if len(var.shape) > 1:
                var.data = np.asarray(var.data, np.float16).astype(np.float32)
        monkeypatch.setenv("TRIMTAB_ISA", kernels.PORTABLE)
        (expected,) = trimtab.Session(program, 1, direct_in_file).run(inputs).values()
        monkeypatch.delenv("TRIMTAB_ISA")
        plan = Plan(operators={"op": Choice(name, weights=weights)}, weights_type=dtype)
        for isa in isas:
            monkeypatch.setenv("TRIMTAB_ISA", isa)
            if name not in algorithms.lower(program, program.ops[-1], Target.host()):
                continue
            computed.add(case)
            for threads in (1, 2):
                session = trimtab.Session(program, threads, plan)
                assert ALGORITHMS[name] in [
                    algorithms.algorithm_of(op) for op in session.program.ops
                ]
                (result,) = session.run(inputs).values()
                np.testing.assert_allclose(
                    result,
                    expected,
                    atol=1e-4 * np.abs(expected).max(),
                    err_msg=f"{case}, {isa}, {weights}",
                )
        monkeypatch.delenv("TRIMTAB_ISA")
    assert computed, f"{name} can compute none of the cases: add one"


@pytest.mark.parametrize("name", FLOAT)
def test_an_algorithm_says_what_it_does_for_every_kernel_that_fits(name: str) -> None:
    algorithm = ALGORITHMS[name]
    for case, program, op, target in some(lowered(name)):
        fit = fitting(algorithm, program, op, op.schema.attribute("kernel"), target)
        assert fit, f"{case}: no kernel of {target.name} fits"
        for kernel in fit:
            work = algorithm.work(program, op, kernel, target)
            assert 0 < work.operations < math.inf, case
            assert work.weight_bytes > 0, case
            assert work.passes >= 1, case
            assert work.spilled_bytes >= 0, case


def test_weights_are_packed_for_every_kernel_that_fits_and_alike_where_operators_share_them() -> (
    None
):
    by_key: dict[tuple[str, int, object], bytes] = {}
    for name, algorithm in some(FLOAT.items()):
        for case, program, op, target in some(lowered(name)):
            attribute = op.schema.attribute("kernel")
            for kernel in some(fitting(algorithm, program, op, attribute, target)):
                selection = KernelSelection(program, op, algorithm, target, 0)
                selection.assign({"kernel": kernel.name})
                for i, packing in algorithm.packings(program, op).items():
                    constant = program.vars[op.inputs[i]]
                    packed = packing.run(np.asarray(constant.data, np.float32))
                    assert packed.dtype == np.float32
                    assert packed.ndim == 1
                    assert packed.size % kernel.packing[1] == 0
                    assert packed.size >= constant.count
                    assert np.isfinite(packed).all()
                    same = by_key.setdefault((case, i, packing.key), packed.tobytes())
                    assert same == packed.tobytes(), f"{name}, {case}: two packings of one key"
                    if packing.at_load is None:
                        continue
                    weights = np.asarray(constant.data)
                    stored = packing.at_load.stored.run(weights)
                    np.testing.assert_array_equal(np.sort(stored), np.sort(weights, axis=None))
                    if packing.at_load.ready:
                        assert stored.tobytes() == packed.tobytes(), f"{name}, {case}"
    assert by_key


@pytest.mark.parametrize("name", FLOAT)
def test_an_algorithm_knows_its_operators_in_a_plan_and_what_their_kernels_are_called_for(
    name: str,
) -> None:
    for case, program, op, target in some(lowered(name)):
        planned = planner.decide(program, target, Plan(operators={"op": Choice(name)}))
        last = planned.ops[-1]
        assert last.type == op.type
        assert [a for a, result in ALGORITHMS.items() if result.computes(last)] == [name], case
        for attribute, layer, times in ALGORITHMS[name].kernel_calls(planned, last):
            assert kernels.kernel(last.attributes[attribute]).args_type == layer.args_type
            assert layer.work > 0
            assert times > 0


def test_lowering_leaves_the_operator_as_it_is() -> None:
    for case in CASES.values():
        program, _ = program_of(case)
        op = program.ops[-1]
        before = (op.type, list(op.inputs), dict(op.attributes))
        for twin in algorithms.lower(program, op, TARGETS[0]).values():
            assert twin is not op
        assert (op.type, op.inputs, op.attributes) == before


def test_every_operator_with_a_choice_can_be_computed_directly() -> None:
    for name in some(FLOAT):
        for _, program, _, target in some(lowered(name)):
            assert algorithms.DIRECT in algorithms.lower(program, program.ops[-1], target)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_has_a_name_for_plan_files_and_element_types_of_the_engine(name: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    assert {*ALGORITHMS[name].dtypes} <= {*schema.DTYPES}


def test_an_algorithm_is_not_asked_for_types_that_it_does_not_compute() -> None:
    program, _ = program_of(CASES["1x1"])
    program.vars["x"].dtype = "i64"
    assert algorithms.lower(program, program.ops[-1], TARGETS[0]) == {}


def test_two_algorithms_of_one_name_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "ALGORITHMS", direct.ALGORITHMS * 2)
    with pytest.raises(SchemaError, match="two algorithms direct"):
        algorithms.registry.__wrapped__()


def plan_values(op: Op, pick: int) -> dict[str, int | bool]:
    """The numeric attributes of an operator's plan: all minimal, all maximal, or in between."""
    # `merged` follows from the groups and the kernel.
    ranges = {a.name: a.range for a in op.schema.attributes if a.range and a.name != "merged"}
    flags = {a.name: bool(pick) for a in op.schema.attributes if a.plan and a.type == "bool"}
    return {name: (r[0], r[1], min(r[0] + 3, r[1]))[pick] for name, r in ranges.items()} | flags


@pytest.mark.parametrize("pick", [0, 1, 2], ids=["least", "most", "between"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_results_do_not_depend_on_how_work_is_cut(name: str, pick: int) -> None:
    for case, described in CASES.items():
        program, inputs = program_of(described)
        op = algorithms.lower(program, program.ops[-1], Target.host()).get(name)
        if op is None:
            continue
        ruled = Plan(operators={"op": Choice(name)})
        (expected,) = trimtab.Session(program, 1, ruled).run(inputs).values()
        values = plan_values(op, pick)
        plan = Plan(operators={"op": Choice(name, values)})
        for threads in (1, 2, 3):
            session = trimtab.Session(program, threads, plan)
            assert any(op.attributes.items() >= values.items() for op in session.program.ops)
            (result,) = session.run(inputs).values()
            np.testing.assert_allclose(
                result, expected, atol=1e-4 * np.abs(expected).max(), err_msg=f"{case}, {threads}"
            )


@pytest.mark.parametrize("type", ["max_pool", "average_pool", "add"])
def test_results_of_other_operators_do_not_depend_on_how_work_is_cut(type: str) -> None:
    rng = np.random.default_rng(7)
    program = Program("net")
    inputs = {"a": rng.standard_normal((2, 5, 9, 70), np.float32)}
    if type != "add":  # pools in plain order have no sizes: images with channels last
        inputs["a"] = inputs["a"].transpose(0, 2, 3, 1).copy()
    program.add_input("a", inputs["a"].shape)
    if type == "add":
        inputs["b"] = rng.standard_normal((1, 5, 9, 1), np.float32)
        program.add_input("b", inputs["b"].shape)
    window = {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}
    attributes = {"activation": "sigmoid", "clamp_max": 0.5} if type == "add" else window
    operands, add_op = list(inputs), program.block.add_op
    if type != "add":
        operands = add_op("transpose", ["a"], {"permutation": (0, 3, 1, 2)})
    program.outputs = add_op(type, operands, attributes, ["y"], "op")
    if type != "add":
        program.outputs = add_op("transpose", ["y"], {"permutation": (0, 2, 3, 1)}, ["z"])
    (expected,) = trimtab.Session(program).run(inputs).values()
    for pick in (0, 1, 2):
        values = plan_values(program.ops[-1], pick)
        for threads in (1, 2):
            session = trimtab.Session(program, threads, Plan(operators={"op": Choice("", values)}))
            (result,) = session.run(inputs).values()
            np.testing.assert_allclose(result, expected, atol=1e-6, err_msg=str(values))
