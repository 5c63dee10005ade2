"""The causes of a wrong network, told apart: the device is this machine with tampered results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tests.debug.networks import write
from tests.small_programs import Net
from trimtab import importers, kernels
from trimtab.bench.jobs import Settings
from trimtab.debug import diagnosis, page, regions
from trimtab.debug.case import SavedCase
from trimtab.debug.diagnosis import Diagnosis, diagnose
from trimtab.debug.tensors import Dump, Result
from trimtab.errors import PlanError, UsageError
from trimtab.pipeline.built import Built
from trimtab.pipeline.loaded import load
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.program import Program
from trimtab.target import Target

Array = NDArray[Any]
Tamper = Callable[[dict[str, Array]], None]
ALL_FEATURES = ("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "neon")


def right(_: dict[str, Array]) -> None:
    """Leaves the values as they are."""


@pytest.fixture
def diagnosed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Diagnosis]:
    """Diagnoses a network for this machine's portable kernels, on a device that computes what
    `tamper` makes of the right values, or ends with other `outputs`.
    """

    def run(
        model: Path,
        tamper: Tamper = right,
        outputs: Callable[[Array], Array] = lambda y: y,
        features: tuple[str, ...] | None = None,
        case: Path | None = None,
        repeat: bool = False,
    ) -> Diagnosis:
        def fake(built: Built, _: object) -> Dump:
            planned, expected = built.planned, built.planned.expected
            assert expected
            values = all_values(
                planned.optimized, dict(zip(planned.program.inputs, expected.inputs, strict=True))
            )
            for op in planned.program.steps:  # a copy that elision leaves has no name before it
                for name in op.outputs:
                    if name not in values:
                        values[name] = np.concatenate([values[x] for x in op.inputs], 1)
            tamper(values)
            results = {
                (i, o): Result(i, op.schema.id, o, values[name])
                for i, op in enumerate(planned.program.ops)
                for o, name in enumerate(op.outputs)
                if name in values
            }
            raw = [np.ascontiguousarray(outputs(y)).tobytes() for y in expected.outputs]
            has = {f for isa in kernels.isas().values() for f in isa.features}
            start = {"event": "start", "cpu_features": [*has] if features is None else [*features]}
            return Dump(results, raw, (start,))

        monkeypatch.setattr(diagnosis, "ready_device", lambda *_, **__: None)
        monkeypatch.setattr(
            diagnosis,
            "build_for",
            lambda _, recipe, __: Built(plan(load(recipe)), cast(Any, None), None),
        )
        monkeypatch.setattr(diagnosis, "run_on_device", fake)
        recipe = Recipe(
            str(model), measurement=MeasurementRequest(settings=Settings(accept_wrong=True))
        )
        return diagnose(recipe, case, repeat=repeat)

    return run


def all_values(program: Program, feed: Mapping[str, Array]) -> dict[str, Array]:
    """Every tensor of an optimized program, as this machine computes it."""
    values: dict[str, Array] = dict(feed)
    for op in program.ops:
        part = regions.region(program, {*values}, op.outputs)
        computed = part.compute(values, Target.host())
        values |= dict(zip(op.outputs, computed, strict=True))
    return values


def wrong_pool(values: dict[str, Array]) -> None:
    """Changes one value of a pooling."""
    name = next(n for n in values if n.startswith("max_pool"))
    values[name] = values[name].copy()
    values[name][0, 5, 2, 1] += 0.5


def test_a_right_network_has_no_cause_and_a_curve_of_rounding_errors(
    diagnosed: Callable[..., Diagnosis], tmp_path: Path
) -> None:
    one = diagnosed(write(tmp_path))
    assert (one.cause, one.first, one.output) == ("", None, "")
    assert not [finding.unknown for finding in one.findings if finding.unknown]
    errors = [finding.accumulated for finding in one.findings if finding.accumulated is not None]
    assert len(errors) > 5
    assert max(errors) < 1e-5


def test_the_first_operator_beyond_its_bound_is_named_and_those_behind_it_are_not(
    diagnosed: Callable[..., Diagnosis], tmp_path: Path
) -> None:
    one = diagnosed(write(tmp_path), wrong_pool, case=tmp_path / "case")
    assert one.cause == "kernel"
    assert one.first
    assert (one.first.type, one.first.at) == ("max_pool", (0, 5, 2, 1))
    assert one.first.actual == pytest.approx(one.first.expected + 0.5)
    # What computes with the wrong values is compared on them; only what this run tampered with
    # and what did not see the change differ.
    assert next(finding.type for finding in one.findings if finding.wrong) == "max_pool"
    case = SavedCase.read(tmp_path / "case")
    assert sorted(a.shape for a in case.inputs) == [(1, 13, 7, 6), (1, 19, 7, 6)]
    assert "max_pool" in case.operator


@pytest.mark.build
def test_an_operator_that_is_right_alone_has_wrong_neighbors(
    diagnosed: Callable[..., Diagnosis], tmp_path: Path
) -> None:
    one = diagnosed(write(tmp_path), wrong_pool, repeat=True)
    assert (one.cause, one.first and one.first.type) == ("neighbors", "max_pool")
    assert "alone it is right there" in one.verdict


@pytest.mark.parametrize(("portable", "cause"), [("", "kernel"), ("off by 0.5", "operator")])
def test_the_portable_kernel_tells_the_kernel_from_the_operator(
    diagnosed: Callable[..., Diagnosis],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    portable: str,
    cause: str,
) -> None:
    outcomes = {"portable": portable, "planned": "off by 0.5"}
    monkeypatch.setattr(
        SavedCase, "repeat", lambda *_, **kind: outcomes["portable" if kind else "planned"]
    )
    assert diagnosed(write(tmp_path), wrong_pool, repeat=True).cause == cause


def test_a_value_that_is_not_finite_is_told_with_its_place(
    diagnosed: Callable[..., Diagnosis], tmp_path: Path
) -> None:
    def tamper(values: dict[str, Array]) -> None:
        name = next(n for n in values if n.startswith("max_pool"))
        values[name] = np.where(
            np.arange(values[name].size).reshape(values[name].shape) == 7, np.nan, values[name]
        )

    one = diagnosed(write(tmp_path), tamper)
    assert one.first
    assert one.first.figures_actual
    assert one.first.figures_actual.not_finite == 1
    assert "not finite" in page.to_text(one)
    assert '"actual": null' in page.to_json(one)


def test_a_right_result_that_is_not_finite_is_told(
    diagnosed: Callable[..., Diagnosis], tmp_path: Path
) -> None:
    net = Net(x=(1, 4, 6, 6))
    net.finish(net("relu", net("sqrt", "x"))).save(tmp_path / "net.ttm")
    one = diagnosed(tmp_path / "net.ttm")
    assert one.cause == ""
    match = re.search(r"(\d+) elements of operator .*sqrt.* are not finite", page.to_text(one))
    assert match
    assert 0 < int(match[1]) < 4 * 36  # about half of a normal distribution is negative


def test_an_operator_that_this_machine_cannot_compute_is_told(
    diagnosed: Callable[..., Diagnosis], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = regions.Region.compute

    def compute(part: regions.Region, values: Any, target: Target, *plan: Any) -> list[Array]:
        is_fake = target == Target.host()  # the device of `diagnosed`
        if not is_fake and any(op.type == "max_pool" for op in part.program.ops):
            raise PlanError("no kernel pools here")
        return original(part, values, target, *plan)

    monkeypatch.setattr(regions.Region, "compute", compute)
    one = diagnosed(write(tmp_path))
    assert one.cause == ""
    assert [finding.type for finding in one.findings if finding.unknown] == ["max_pool"]
    text = page.to_text(one)
    assert "not compared: this machine cannot compute it: no kernel pools here" in text


def test_rounding_that_adds_up_is_told_from_a_wrong_operator(
    diagnosed: Callable[..., Diagnosis], tmp_path: Path
) -> None:
    one = diagnosed(write(tmp_path), outputs=lambda y: y + y.dtype.type(0.01))
    assert one.cause == "rounding"
    assert "rounding adds up" in one.verdict
    assert "curve" in page.to_html(one)
    assert "Error over depth" in page.to_text(one)


def test_kernels_that_the_device_cannot_run_are_a_plan_that_differs(
    diagnosed: Callable[..., Diagnosis], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = diagnosed(write(tmp_path), features=())
    planned_for = {name for finding in one.findings for name in finding.kernels}
    if all(name.endswith("_portable") for name in planned_for):
        assert one.cause == ""  # this machine has no others
    else:
        assert one.cause == "plan"
        assert "takes another kernel" in one.verdict


def test_an_import_that_differs_from_the_frameworks_own_oracle_is_told_with_its_tensor(
    diagnosed: Callable[..., Diagnosis], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    weights = [rng.standard_normal((4, 4, 3, 3)).astype(np.float32) for _ in range(2)]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, (1, 4, 6, 6)) for n in ("x", "y"))
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1] * 4, name="first"),
        helper.make_node("Conv", ["a", "w1"], ["b"], pads=[1] * 4, name="second"),
        helper.make_node("Relu", ["b"], ["y"], name="third"),
    ]
    graph = helper.make_graph(
        nodes, "net", [x], [y], [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)]
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "net.onnx")
    original = importers.load

    def wrongly(*args: Any, **options: Any) -> Program:
        program = original(*args, **options)
        second = next(op for op in program.ops if op.type == "conv" and op.name == "second")
        var = program.vars[second.inputs[1]]
        assert var.data is not None
        program.vars[var.name] = replace(var, data=var.data[:, :, ::-1].copy())
        return program

    monkeypatch.setattr(importers, "load", wrongly)
    one = diagnosed(tmp_path / "net.onnx", outputs=lambda y: y + y.dtype.type(1))
    assert one.cause == "import"
    assert "tensor b on" in one.verdict


def test_a_network_whose_sizes_depend_on_data_is_refused(tmp_path: Path) -> None:
    program = Program("net")
    x = program.add_input("x", (4, 5))
    program.outputs = program.block.add_op("non_zero", [x])
    with pytest.raises(UsageError, match="debug needs fixed sizes"):
        program.require_fixed_sizes("debug")
