"""NaN goes through operators as through onnxruntime's, but for those in docs/precision.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.ops import oracle
from tests.ops.cases import by_family
from tests.ops.cases.case import Array, Case
from trimtab import passes
from trimtab.planner.plan_file import Choice, Plan, operator_keys
from trimtab.program import Program

PAGE = Path(__file__).resolve().parents[2] / "docs" / "precision.md"
SHARE = 0.1  # of the elements become NaN
# As the page says: zeros between the pixels of a volume, and a region that the oracle refuses.
APART = re.compile("ConvTranspose-volume-.*-computed|MaxRoiPool-")
NAN = 0x7FFFFFFF  # as GPUs make it; integer arithmetic on its exponent would lose it


def otherwise() -> frozenset[str]:
    """The ONNX operators of the page's table."""
    section = PAGE.read_text().split("## NaN\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return frozenset(name for row in rows for name in re.findall(r"`(\w+)`", row))


def with_nan(case: Case) -> Mapping[str, Array] | None:
    """The inputs with NaN in some places; None if none is float32."""
    rng = np.random.default_rng(5)
    inputs = {}
    for name, values in case.inputs.items():
        inputs[name] = values.copy()
        if values.dtype == np.float32 and values.size:
            places = rng.random(values.shape) < SHARE
            places.reshape(-1)[0] = True
            inputs[name].view(np.uint32)[places] = NAN
    is_changed = any(np.isnan(v).any() for v in inputs.values() if v.dtype == np.float32)
    return inputs if is_changed else None


def separate_groups(program: Program) -> Plan:
    """The plan of the page whose convolutions compute each group by itself."""
    optimized = passes.optimize(program)
    keys = zip(operator_keys(optimized), optimized.ops, strict=True)
    grouped = [key for key, op in keys if op.type == "conv" and op.attributes["group"] > 1]
    return Plan(operators=dict.fromkeys(grouped, Choice("direct", {"merged": 1})))


def difference(case: Case, inputs: Mapping[str, Array], folder: Path) -> str:
    """The first output that differs from onnxruntime's; "" if none does."""
    (folder / "net.onnx").write_bytes(case.model.SerializeToString())
    program = trimtab.load(folder / "net.onnx")
    outputs = trimtab.Session(program, plan=separate_groups(program)).run(inputs)
    for name, want in oracle.run(case.model, dict(inputs)).items():
        if outputs[name].shape != want.shape:
            return f"{name}: {outputs[name].shape} instead of {want.shape}"
        scale = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0)))
        same = np.isclose(outputs[name], want, case.rtol, case.atol * scale, equal_nan=True)
        if not same.all():
            return f"{name}: {np.count_nonzero(~same)} of {want.size} elements"
    return ""


def operators(case: Case) -> set[str]:
    return {node.op_type for node in case.model.graph.node}


@pytest.mark.parametrize("family", by_family())
def test_nan_goes_through_a_family_of_operators_as_through_onnxruntime(
    family: str, tmp_path: Path
) -> None:
    wrong = {}
    for case in by_family()[family]:
        inputs = with_nan(case)
        if inputs is None or operators(case) & otherwise() or APART.match(case.id):
            continue
        if differs := difference(case, inputs, tmp_path):
            wrong[case.id] = differs
    assert wrong == {}


def test_each_operator_of_the_page_treats_nan_in_its_own_way(tmp_path: Path) -> None:
    missing = set(otherwise())
    for cases in by_family().values():
        for case in cases:
            one, inputs = operators(case) & missing, with_nan(case)
            if len(one) == 1 and inputs and difference(case, inputs, tmp_path):
                missing -= one
    assert missing == set()
