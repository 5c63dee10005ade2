"""Every operator vector through `trimtab.Session`, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import pytest

import trimtab
from tests.ops import oracle
from tests.ops.cases import all_cases
from tests.ops.cases.case import Case


def test_the_ids_of_the_vectors_are_unique() -> None:
    ids = [case.id for case in all_cases()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_an_operator_computes_what_onnxruntime_computes(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "case.onnx"
    path.write_bytes(case.model.SerializeToString())
    session = trimtab.Session(trimtab.load(path))
    oracle.assert_agree(case, session.run(case.inputs), oracle.expected(case))
