"""Every operator vector through `trimtab.Session`, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import pytest

import trimtab
from tests.ops import oracle
from tests.ops.cases import all_cases, by_family
from tests.ops.cases.case import Case
from tests.some import some
from trimtab.target import Target


def test_the_ids_of_the_vectors_are_unique() -> None:
    ids = [case.id for case in all_cases()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_an_operator_computes_what_onnxruntime_computes_with_every_instruction_set(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "case.onnx"
    path.write_bytes(case.model.SerializeToString())
    program, expected = trimtab.load(path), oracle.expected(case)
    for isa in some(Target.host().isas):
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        oracle.assert_agree(case, trimtab.Session(program).run(case.inputs), expected)


@pytest.mark.parametrize("family", by_family())
def test_several_threads_compute_what_one_computes(
    family: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> None:
    turns = [(isa, threads) for isa in Target.host().isas for threads in (2, 3, 4)]
    for i, case in some(enumerate(by_family()[family])):
        path = tmp_path / "case.onnx"
        path.write_bytes(case.model.SerializeToString())
        program, expected = trimtab.load(path), oracle.expected(case)
        for isa, threads in some(
            turns if pytestconfig.getoption("--full") else (turns[i % len(turns)],)
        ):
            monkeypatch.setenv("TRIMTAB_ISA", isa)
            oracle.assert_agree(case, trimtab.Session(program, threads).run(case.inputs), expected)
