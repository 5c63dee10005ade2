"""Weights that the file stores once, and their packing when a model is set up."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import trimtab
from tests.some import some
from tests.stored_forms import SCALED, half
from trimtab import _engine, modelfile, passes, zoo
from trimtab.errors import PlanError, ProgramError
from trimtab.modelfile import records
from trimtab.planner import plan_file, planner
from trimtab.planner.plan_file import WEIGHTS_TYPES, Choice, Plan
from trimtab.program import Op, Program, Quantization
from trimtab.target import Target

Array = NDArray[Any]

TARGETS = [
    Target.of("aarch64", "cortex-a53"),
    Target.of("armv7", "cortex-a7"),
    Target.of("x86_64", "skylake-avx512"),
]
NETWORKS = ["squeezenet", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2", "efficientnet_b0"]
F16 = Plan(weights_type="f16")


def network() -> Program:
    """Weights for every operator that packs, none of whose columns fill their panels."""
    rng = np.random.default_rng(5)
    program = Program("net")
    program.add_input("x", (1, 34, 14, 14))
    block = program.block

    def weights(*shape: int) -> str:
        return block.add_constant(rng.standard_normal(shape, np.float32), "w")

    pads = {"pads": (1, 1, 1, 1)}
    (y,) = block.add_op("conv", ["x", weights(67, 34, 3, 3), weights(67)], pads, name="winograd")
    (y,) = block.add_op("conv", [y, weights(70, 67, 1, 1)], name="direct")
    (y,) = block.add_op("conv", [y, weights(69, 70, 1, 1)], name="strassen")
    (y,) = block.add_op("conv_transpose", [y, weights(69, 5, 3, 3)], {"strides": (2, 1)})
    (y,) = block.add_op("global_average_pool", [y])
    (y,) = block.add_op("reshape", [y], {"shape": (1, 5)})
    program.outputs = block.add_op("gemm", [y, weights(11, 5)], name="gemm")
    return program


CHOSEN = {"winograd": "winograd_4", "direct": "direct", "strassen": "strassen"}


def plan(weights: str = "", prefer: str = "balanced", weights_type: str = "f32") -> Plan:
    choices = {name: Choice(chosen, weights=weights) for name, chosen in CHOSEN.items()}
    return Plan(operators=choices, prefer=prefer, weights_type=weights_type)


def inputs() -> dict[str, NDArray[np.float32]]:
    return {"x": np.random.default_rng(1).standard_normal((1, 34, 14, 14), np.float32)}


def preparing(program: Program) -> list[Op]:
    return [op for op in program.ops if op.schema.prepares]


def same_elements(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Bit for bit, in any order."""
    return np.array_equal(np.sort(a.reshape(-1).view("u4")), np.sort(b.reshape(-1).view("u4")))


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.arch)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_file_is_hardly_larger_than_the_weights(
    name: str, target: Target, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = zoo.write(name, tmp_path_factory.getbasetemp())
    program = passes.optimize(trimtab.load(path))
    weights = sum(var.bytes for var in program.constants())
    image = modelfile.encode(planner.plan(program, target))
    assert image.size <= 1.01 * weights


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.arch)
def test_a_file_contains_every_weight_once_and_bit_equal(target: Target) -> None:
    source = network()
    planned = planner.plan(source, target, plan())
    assert {op.type for op in preparing(planned)} == {
        "pack_panels",
        "pack_winograd",
        "pack_strassen",
    }
    originals = [var for var in source.constants() if len(var.shape) > 1]
    for op in preparing(planned):
        stored = planned.vars[op.inputs[0]]
        assert stored.data is not None
        (original,) = (var for var in originals if var.shape == stored.shape)
        assert same_elements(stored.data, np.asarray(original.data))
    assert len(preparing(planned)) == len(originals)


def test_with_prefer_load_nothing_is_packed_at_load_time() -> None:
    session = trimtab.Session(network(), plan=plan(prefer="load"))
    assert not preparing(session.program)
    assert session.memory["prepared_bytes"] == 0


def test_an_override_of_an_operator_precedes_the_preference() -> None:
    target = TARGETS[0]
    packed_in_file = planner.plan(network(), target, plan("file"))
    assert {op.type for op in preparing(packed_in_file)} == {"pack_panels"}
    packed_at_load = planner.plan(network(), target, plan("load", prefer="load"))
    assert len(preparing(packed_at_load)) == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_results_do_not_depend_on_where_weights_are_packed(threads: int) -> None:
    in_file = trimtab.Session(network(), 1, plan(prefer="load")).run(inputs())
    session = trimtab.Session(network(), threads, plan())
    assert session.memory["prepared_bytes"] > 0
    for _ in range(2):
        for name, expected in in_file.items():
            result = session.run(inputs())[name]
            np.testing.assert_allclose(result, expected, atol=1e-4 * np.abs(expected).max())


def assert_reproduced(program: Program, overrides: Plan) -> None:
    """Asserts that the plan of a planned program, written and read, gives the same program."""
    first = planner.plan(program, TARGETS[0], overrides)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.toml"
        path.write_text(plan_file.plan_of(first).to_toml())
        again = planner.plan(program, TARGETS[0], Plan.read(path))
    assert [(op.type, op.inputs, op.attributes) for op in again.ops] == [
        (op.type, op.inputs, op.attributes) for op in first.ops
    ]
    for var in first.constants():
        np.testing.assert_array_equal(again.vars[var.name].data, var.data)


def test_panels_that_are_padded_at_load_time_equal_those_of_the_file() -> None:
    in_file = Plan(("direct",), prefer="load")
    (expected,) = trimtab.Session(network(), plan=in_file).run(inputs()).values()
    (result,) = trimtab.Session(network(), plan=Plan(("direct",))).run(inputs()).values()
    np.testing.assert_array_equal(result, expected)


def test_f16_weights_give_the_results_of_rounded_ones() -> None:
    rounded = network()
    for var in rounded.constants():
        if len(var.shape) > 1:
            var.data = np.asarray(var.data, np.float16).astype(np.float32)
    (expected,) = trimtab.Session(rounded, plan=Plan(("direct",))).run(inputs()).values()
    overrides = Plan(("direct",), weights_type="f16")
    session = trimtab.Session(network(), plan=overrides)
    np.testing.assert_array_equal(session.run(inputs())[session.output_names[0]], expected)
    full = trimtab.Session(network(), plan=Plan(("direct",)))
    assert session.memory["weights_bytes"] < 0.55 * full.memory["weights_bytes"]


def test_weights_with_values_of_f16_are_stored_as_f16_and_compute_the_same() -> None:
    exact, direct = network(), Plan(("direct",))
    for var in exact.constants():
        if var.name != "w":  # those of the first convolution are others
            var.data = np.asarray(var.data, np.float16).astype(np.float32)
    planned = planner.plan(exact, TARGETS[0], direct)
    panels = {
        op.inputs[0]: planned.vars[op.inputs[0]].dtype
        for op in planned.ops
        if op.type == "pack_panels"
    }
    # The matrix of 11 x 5 is too small to gain anything.
    assert [*panels.values()] == ["f32", "f16", "f16", "f16", "f32"]
    in_file = replace(direct, prefer="load")
    (expected,) = trimtab.Session(exact, plan=in_file).run(inputs()).values()
    (result,) = trimtab.Session(exact, plan=direct).run(inputs()).values()
    np.testing.assert_array_equal(result, expected)
    assert_reproduced(exact, direct)


@pytest.mark.parametrize("form", SCALED)
@pytest.mark.parametrize("chosen", ["direct", "all", "f16"])
def test_scaled_weights_give_the_results_of_rounded_ones(chosen: str, form: str) -> None:
    rounded, large = network(), 0
    feeds = {name: x / 8 for name, x in inputs().items()}  # sums within the range of f16
    for var in rounded.constants():
        axis = 1 if var.shape[1:] == (5, 3, 3) else 0
        if len(var.shape) > 1 and var.count >= 16 * var.shape[axis]:
            # What computes in f16 is rounded before it is stored.
            exact = half(np.asarray(var.data), axis) if chosen == "f16" else var.data
            var.data = SCALED[form](np.asarray(exact), axis)
            large += var.count if form == "int8" else var.count * int(form[-1]) // 8
        elif len(var.shape) > 1:
            var.data = np.asarray(var.data, np.float16).astype(np.float32)
    base = {
        "direct": Plan(("direct",)),
        "all": plan(),
        "f16": Plan(("direct",), precision="f16"),
    }[chosen]
    (expected,) = trimtab.Session(rounded, 2, base).run(feeds).values()
    session = trimtab.Session(network(), 2, replace(base, weights_type=form))
    (result,) = session.run(feeds).values()
    operators = {"pack_panels", *(["pack_winograd", "pack_strassen"] if chosen == "all" else [])}
    variables = session.program.vars
    stored = {(op.type, variables[op.inputs[0]].dtype) for op in preparing(session.program)}
    dtype = "i8" if form == "int8" else "u8"
    assert stored == {*product(operators, [dtype]), ("pack_panels", "f16")}
    if chosen == "f16":
        np.testing.assert_allclose(result, expected, atol=2e-2 * np.abs(expected).max())
    else:
        np.testing.assert_array_equal(result, expected)
    assert large < session.memory["weights_bytes"] < 1.15 * large


@pytest.mark.parametrize("form", SCALED)
def test_scaled_weights_of_merged_groups_and_dead_channels_keep_their_values(form: str) -> None:
    rng = np.random.default_rng(4)
    w = rng.standard_normal((24, 4, 3, 3), np.float32)
    w *= rng.uniform(0.5, 2, (24, 1, 1, 1)).astype(np.float32)
    w[5] = 0
    x = {"x": rng.standard_normal((1, 24, 9, 9), np.float32)}
    results: list[Array] = []
    for dtype, data in (("f32", SCALED[form](w, 0)), (form, w)):
        program = Program("groups")
        program.add_input("x", (1, 24, 9, 9))
        attributes = {"group": 6, "pads": (1, 1, 1, 1)}
        name = program.block.add_constant(data, "w")
        program.outputs = program.block.add_op("conv", ["x", name], attributes, name="conv")
        session = trimtab.Session(program, plan=Plan(("direct",), weights_type=dtype))
        assert [op.type for op in preparing(session.program)] == ["pack_merged"]
        results += session.run(x).values()
    np.testing.assert_array_equal(results[1], results[0])


def test_weights_without_scales_for_their_columns_are_refused() -> None:
    int8, coded = (
        planner.plan(network(), Target.host(), Plan(("direct",), weights_type=form))
        for form in ("int8", "bits4")
    )
    for planned, change in (
        (int8, {"quantization": None}),
        (int8, {"quantization": Quantization.of(1.0)}),
        (coded, {"shape": (9,), "data": np.zeros(9, np.uint8)}),
    ):
        twin = planned.copy()
        name = next(op for op in preparing(twin)).inputs[0]
        twin.vars[name] = replace(twin.vars[name], **change)
        with pytest.raises(_engine.EngineError, match="a scale for each output channel"):
            _engine.Executor(modelfile.encode(twin))
    for planned in (int8, coded):
        for op in preparing(planned):
            op.attributes["bits"] = 0
        with pytest.raises(_engine.EngineError, match=r"not the floats|do not fit the weights"):
            _engine.Executor(modelfile.encode(planned))


def test_every_f16_value_is_expanded_exactly() -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    halves = every[np.isfinite(every)].reshape(-1, 2)
    program = Program("halves")
    program.add_input("x", (1, 2))
    w = program.block.add_constant(halves.astype(np.float32), "w")
    program.outputs = program.block.add_op("gemm", ["x", w])
    session = trimtab.Session(program, plan=F16)
    for i, x in some(enumerate(np.eye(2, dtype=np.float32))):
        (result,) = session.run({"x": x[None]}).values()
        np.testing.assert_array_equal(result[0], halves[:, i].astype(np.float32))


def test_weights_that_overflow_f16_are_an_error() -> None:
    program = network()
    w = program.vars["w"]
    w.data = np.asarray(w.data) * np.float32(1e5)
    with pytest.raises(PlanError, match="too large for f16"):
        planner.plan(program, TARGETS[0], F16)


@pytest.mark.parametrize(
    "overrides",
    [
        *(plan(), plan("file"), plan("load", prefer="load")),
        *(plan(weights_type=form) for form in WEIGHTS_TYPES[1:]),
    ],
    ids=["balanced", "file", "load", *WEIGHTS_TYPES[1:]],
)
def test_a_written_plan_reproduces_the_packing(overrides: Plan) -> None:
    assert_reproduced(network(), overrides)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('prefer = "small"', "prefer cannot be 'small'"),
        ("prefer = 1", "`prefer` must be a string"),
        ('weights_type = "i8"', "weights_type cannot be 'i8'"),
        ('[operators.direct]\nweights = "net"', "weights cannot be 'net'"),
        ("[operators.direct]\nweights = 3", "`operators.direct.weights` must be a string"),
    ],
)
def test_a_plan_with_an_unknown_word_is_refused(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(PlanError, match=complaint):
        Plan.read(tmp_path / "plan.toml")


def test_equal_constants_are_stored_once() -> None:
    program = Program("twins")
    program.add_input("x", (1, 4))
    w = np.arange(16, dtype=np.float32).reshape(4, 4)
    other = w.copy()
    other[3, 3] = 0
    names = [program.block.add_constant(data, "w") for data in (w, w.copy(), other)]
    program.outputs = [program.block.add_op("gemm", ["x", name])[0] for name in names]
    tables = modelfile.encode(program).tobytes()
    count = records.COUNTS.unpack_from(tables, records.SEAL.size)[2]
    places = [records.variable(tables, i)[1].data_offset for i in range(count)]
    assert len({place for place in places if place}) == 2
    for name in names:
        np.testing.assert_array_equal(
            modelfile.decode(modelfile.encode(program), "").vars[name].data, program.vars[name].data
        )


def test_operators_that_share_a_constant_share_its_packed_form() -> None:
    program = network()
    (y,) = program.block.add_op("conv", ["x", "w"], {"pads": (1, 1, 1, 1)}, name="again")
    program.outputs.append(y)
    both = Plan(operators={"winograd": Choice("winograd_4"), "again": Choice("winograd_4")})
    planned = planner.plan(program, TARGETS[0], both)
    assert sum(op.type == "pack_winograd" for op in planned.ops) == 1
    apart = Plan(operators={"winograd": Choice("winograd_4"), "again": Choice("winograd_2")})
    one, other = (
        op
        for op in planner.plan(program, TARGETS[0], apart).ops
        if "tile" in op.attributes and op.schema.prepares
    )
    assert one.inputs == other.inputs


@pytest.mark.parametrize(
    ("type", "attribute", "value", "complaint"),
    [
        ("pack_panels", "groups", 3, "do not fit the weights"),
        ("pack_panels", "columns", 2**40, "do not fit the weights"),
        ("pack_panels", "depths", (-1, 2**62), "do not fit the weights"),
        ("pack_panels", "panel", 0, "attribute"),
        ("pack_panels", "panel", 4, "packed weights are too short"),
        ("pack_winograd", "tile", 7, "no Winograd tile"),
        ("pack_winograd", "tile", 2, "tiles of another size"),
        ("pack_winograd", "stride", 3, "no Winograd tile"),
        ("pack_winograd", "stride", 0, "no part of the kernel"),
        ("pack_winograd", "panel", 1, "packed weights are too short"),
        ("pack_winograd", "kernel", "", "no plan"),
        ("pack_strassen", "panel", 3, "multiple of four"),
        ("pack_strassen", "panel", 64, "packed weights are too short"),
    ],
)
def test_packing_that_does_not_fit_is_refused(
    type: str, attribute: str, value: Any, complaint: str
) -> None:
    if attribute == "tile" and value == 2 and Target.host().isas == ("portable",):
        pytest.skip("portable transforms do every tile")
    planned = trimtab.optimize(network(), plan=plan())
    op = next(op for op in planned.ops if op.type == type)
    op.attributes[attribute] = value
    with pytest.raises(ProgramError, match=complaint):
        trimtab.Session(planned)


def test_only_constants_can_be_packed_when_a_model_is_set_up() -> None:
    planned = trimtab.optimize(network(), plan=plan())
    op = preparing(planned)[0]
    computed = next(
        name for op in planned.steps for name in op.outputs if len(planned.vars[name].shape) == 4
    )
    op.inputs[0] = computed
    planned.ops.remove(op)
    planned.ops.append(op)
    with pytest.raises(ProgramError, match=r"before it is written|must be constant"):
        trimtab.Session(planned)


def test_weights_are_packed_before_they_are_read() -> None:
    planned = trimtab.optimize(network(), plan=plan())
    planned.ops.append(planned.ops.pop(0))
    with pytest.raises(ProgramError, match="before it is written"):
        trimtab.Session(planned)
