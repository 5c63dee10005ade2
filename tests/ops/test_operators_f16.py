"""Every operator vector in f16, against onnxruntime in f32 on operands that f16 can represent.

The bounds are those of f16 networks: the largest error relative to the largest element, and the
cosine. Winograd is excluded: its transforms add an error that shows in a single layer with random
weights (1.5 % of the largest element in F(4,3)). By default every fifth vector of a family runs;
`--full` runs all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import trimtab
from tests.ops import oracle
from tests.ops.cases import by_family
from tests.ops.half import assert_near, convert_for_nothing, halves, planned, rounded
from trimtab import schema
from trimtab.target import Target

# Operators of the excluded algorithm, and of one that the planner uses for larger layers only.
UNREACHED = frozenset(("conv_separable", "conv_winograd", "pack_winograd"))


@pytest.fixture(autouse=True)
def _all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    convert_for_nothing(monkeypatch)


@pytest.mark.parametrize("family", by_family())
def test_a_family_of_operators_in_f16_is_near_onnxruntime(
    family: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    wrong = {}
    for vector in by_family()[family][:: 1 if pytestconfig.getoption("--full") else 5]:
        case = rounded(vector)
        program = planned(case, tmp_path, Target.host())
        if program is None or not halves(program):
            continue  # in f32, which test_operators.py covers
        try:
            expected = oracle.expected(case)
            outputs = trimtab.Session(program).run(case.inputs)
            assert list(outputs) == list(expected)
            for name, want in expected.items():
                assert_near(outputs[name], want)
        except AssertionError as error:
            wrong[case.id] = str(error)
    assert wrong == {}


@pytest.mark.slow
def test_every_operator_with_an_f16_class_has_a_vector_that_reaches_it(tmp_path: Path) -> None:
    result: set[str] = set()
    for cases in by_family().values():
        for case in cases:
            program = planned(rounded(case), tmp_path, Target.host())
            result |= halves(program) if program else set()
    typed = {op.name for op in schema.operators().values() if op.typed and "f16" in op.dtypes}
    assert typed - result == UNREACHED & typed
