"""Programs of models that the cache recognizes, and that are imported when somebody looks."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest

import trimtab
from tests.plan_cache.small_network import X, network
from trimtab.errors import ModelFileError
from trimtab.importers import onnx as onnx_importer


def test_a_changed_program_is_planned(model: Path, folder: Path, plans: list[int]) -> None:
    expected = trimtab.Session(trimtab.load(model)).run(X)["y"]
    program = trimtab.load(model)
    bias = next(program.vars[op.inputs[2]] for op in program.ops if op.type == "gemm")
    assert bias.data is not None
    bias.data = bias.data + np.float32(1)
    assert np.allclose(trimtab.Session(program).run(X)["y"], expected + 1, atol=1e-5)
    assert len(plans) == 2
    program = trimtab.load(model)
    program.outputs = [program.inputs[0]]
    assert not program.origin


def test_copies_of_a_loaded_program_are_independent(model: Path, folder: Path) -> None:
    for _ in range(2):
        program = trimtab.load(model)
        copied = program.copy()
        copied.ops.clear()
        assert program.ops
        assert trimtab.load(model).ops


def test_a_recognized_model_outlives_its_file(model: Path, folder: Path) -> None:
    expected = [op.type for op in trimtab.load(model).ops]
    deleted, replaced = trimtab.load(model), trimtab.load(model)
    model.unlink()
    assert [op.type for op in deleted.ops] == expected
    model.write_bytes(network(seed=1))
    assert [op.type for op in replaced.ops] == expected


def test_a_model_that_changes_before_it_is_read_is_an_error(model: Path, folder: Path) -> None:
    trimtab.load(model)
    program = trimtab.load(model)
    with model.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    with pytest.raises(ModelFileError, match="has changed since it was loaded") as error:
        _ = program.ops
    assert error.value.hint == "load it again"


def test_bytes_of_a_model_are_recognized(folder: Path, plans: list[int]) -> None:
    for _ in range(2):
        program = trimtab.load(network())
        trimtab.Session(program)
        assert program.ops
    assert len(plans) == 1


def with_external_data(path: Path, seed: int) -> bytes:
    """Writes the network with its weights in a folder beside it; returns the bytes of the graph."""
    path.with_name("weights").mkdir(exist_ok=True)
    path.with_name("weights").joinpath("all.bin").unlink(missing_ok=True)
    model = onnx.load_from_string(network(seed))
    onnx.save_model(
        model, path, save_as_external_data=True, location="weights/all.bin", size_threshold=0
    )
    return path.read_bytes()


def test_other_weights_in_another_file_are_another_model(
    tmp_path: Path, folder: Path, plans: list[int]
) -> None:
    path = tmp_path / "net.onnx"
    graph = with_external_data(path, 0)
    results = [trimtab.Session(trimtab.load(path)).run(X)["y"] for _ in range(2)]
    assert len(plans) == 1
    assert with_external_data(path, 1) == graph
    results.append(trimtab.Session(trimtab.load(path)).run(X)["y"])
    assert len(plans) == 2
    inside = [trimtab.Session(trimtab.load(network(seed))).run(X)["y"] for seed in (0, 0, 1)]
    assert np.array_equal(results, inside)


def test_a_recognized_model_outlives_its_files_in_folders(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "net.onnx"
    with_external_data(path, 0)
    trimtab.load(path)
    recognized = trimtab.load(path)
    path.unlink()
    (tmp_path / "weights" / "all.bin").unlink()
    assert [op.type for op in recognized.ops] == [op.type for op in trimtab.load(network()).ops]


def test_a_recognized_model_is_not_imported(
    model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trimtab.Session(trimtab.load(model))

    def refuse(*_: object) -> None:
        raise AssertionError("the model is imported")

    monkeypatch.setattr(onnx_importer, "load", refuse)
    trimtab.Session(trimtab.load(model))
