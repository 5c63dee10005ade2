"""Models that are not files: bytes, ONNX models, names of the zoo."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

import trimtab
from tests.importers.tflite_cases import CASES
from trimtab import errors, zoo

NAME = "squeezenet"


@pytest.fixture(scope="module")
def path() -> Path:
    return zoo.cached(NAME)


@pytest.fixture(scope="module")
def expected(path: Path) -> str:
    return operators(trimtab.load(path))


def operators(program: trimtab.Program) -> str:
    return "\n".join(map(str, program.ops))


@pytest.mark.parametrize("container", [bytes, bytearray, memoryview])
def test_the_bytes_of_a_model_are_a_model(path: Path, expected: str, container: Any) -> None:
    assert operators(trimtab.load(container(path.read_bytes()))) == expected


def test_an_onnx_model_is_a_model(path: Path, expected: str) -> None:
    model = onnx.load(path)
    assert operators(trimtab.load(model)) == expected
    assert operators(trimtab.load(str(path))) == expected
    exported = SimpleNamespace(model_proto=model)  # as the ONNXProgram of torch.onnx.export
    assert operators(trimtab.load(exported)) == expected


def test_the_bytes_of_a_tflite_file_are_a_model(tmp_path: Path) -> None:
    data = next(iter(CASES.values())).bytes()
    (tmp_path / "net.tflite").write_bytes(data)
    assert operators(trimtab.load(data)) == operators(trimtab.load(tmp_path / "net.tflite"))


def test_the_bytes_of_a_ttm_file_are_a_model(path: Path, tmp_path: Path) -> None:
    planned = trimtab.optimize(trimtab.load(path))
    planned.save(tmp_path / "net.ttm")
    program = trimtab.load((tmp_path / "net.ttm").read_bytes())
    assert program.planned
    assert operators(program) == operators(planned)


def test_a_name_of_the_zoo_is_a_model(expected: str) -> None:
    assert operators(trimtab.load(NAME)) == expected


def test_a_name_that_is_nearly_that_of_a_network_is_suggested() -> None:
    with pytest.raises(errors.ModelFileError) as caught:
        trimtab.load(f"{NAME[:3]}{NAME[4:]}")
    assert f"did you mean the zoo's {NAME!r}?" in caught.value.hint


def test_a_file_goes_before_a_name_of_the_zoo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).write_bytes(b"no model")
    with pytest.raises(errors.ModelFileError, match="format is not known"):
        trimtab.load(NAME)


def test_errors_of_a_model_in_memory_name_no_temporary_file(path: Path) -> None:
    data = path.read_bytes()
    for model, where in (
        (b"no model", "the model in 8 bytes"),
        (data[: len(data) // 2], f"the model in {len(data) // 2:,} bytes"),
        (b"", "the model in 0 bytes"),
        (onnx.ModelProto(), "the ONNX model"),
    ):
        with pytest.raises(errors.ModelFileError) as caught:
            trimtab.load(model)
        assert caught.value.where == where
        assert "/trimtab-" not in str(caught.value)


@pytest.mark.parametrize("thing", [None, 3, {"data": 1}, np.zeros(3)])
def test_other_things_are_no_models(thing: Any) -> None:
    for use in (trimtab.load, trimtab.Session):
        with pytest.raises(errors.UsageError, match=f"cannot be of type {type(thing).__name__}"):
            use(thing)


def test_a_missing_file_is_an_error_of_its_own() -> None:
    for use in (trimtab.load, trimtab.Session):
        with pytest.raises(errors.ModelFileError, match="there is no such file"):
            use("nothing.onnx")
        with pytest.raises(errors.ModelFileError, match="there is no such file"):
            use("nothing")


def test_a_session_takes_what_load_takes(path: Path, tmp_path: Path) -> None:
    session = trimtab.Session(path)
    session.program.save(tmp_path / "net.ttm")
    x = zoo.sample_input(NAME)["data"]
    (expected,) = session.run({"data": x}).values()
    for model in (
        str(tmp_path / "net.ttm"),
        (tmp_path / "net.ttm").read_bytes(),
        onnx.load(path),
        NAME,
        pickle.loads(pickle.dumps(session)).program,
    ):
        (actual,) = trimtab.Session(model).run(x).values()
        np.testing.assert_array_equal(actual, expected)
