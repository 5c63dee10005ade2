"""Operator vectors and networks, written in another format and read back."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.ncnn_writer import run_ncnn
from tests.ops import oracle
from tests.ops.cases import all_cases
from tests.ops.cases.case import Array, Case
from tests.small_programs import Net
from trimtab import exporters
from trimtab.program import Program


@cache
def vectors() -> dict[str, Case]:
    """The operator vectors by their ids."""
    return {case.id: case for case in all_cases()}


@cache
def chosen(name: str) -> list[str]:
    """The ids of a list of vectors."""
    ids: list[str] = tomllib.loads(Path(__file__).with_name("vectors.toml").read_text())[name]
    return ids


def program_of(case: Case, folder: Path) -> Program:
    """The imported program of an operator vector."""
    path = folder / "source.onnx"
    path.write_bytes(case.model.SerializeToString())
    return trimtab.load(path)


def written(program: Program, path: Path) -> Path:
    """The program in the format of `path`."""
    exporter = exporters.exporter_for(path)
    assert exporter is not None
    assert path in exporters.write(program, path, exporter)
    return path


def check_read_back(case: Case, program: Program, path: Path) -> dict[str, Array]:
    """Asserts that our importer reads a network with the interface of `program`, which computes
    what onnxruntime computes for the vector. Returns that.
    """
    expected = oracle.expected(case)
    again = trimtab.load(path)
    assert (again.inputs, again.outputs) == (program.inputs, program.outputs)
    results = trimtab.Session(again).run(case.inputs)
    assert {k: v.shape for k, v in results.items()} == {k: v.shape for k, v in expected.items()}
    oracle.assert_agree(case, results, expected)
    return expected


def check_network(program: Program, path: Path) -> tuple[dict[str, Array], dict[str, Array]]:
    """Writes a network, reads it with our importer, and asserts that it computes the same. Returns
    a seeded input and the results of `program`.
    """
    written(program, path)
    rng = np.random.default_rng(1)
    shapes = {name: program.vars[name].shape for name in program.inputs}
    inputs = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    expected = trimtab.Session(program).run(inputs)
    again = trimtab.load(path)
    assert (again.inputs, again.outputs) == (program.inputs, program.outputs)
    assert_close(trimtab.Session(again).run(inputs), expected)
    return inputs, expected


def parts() -> Program:
    """A network whose outputs are results of one split, in another order, of which one is read."""
    net = Net(x=(1, 6, 3, 3))
    first, second, third = net.many("split", 3, "x", axis=1, sizes=[1, 2, 3])
    net.program.outputs = [third, net("relu", second), first, second]
    return net.program


def assert_close(actual: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    """Asserts that values agree to 1e-5 of the largest one; a batch of 1 may be absent."""
    for name, value in expected.items():
        scale = float(abs(value).max())
        np.testing.assert_allclose(actual[name].reshape(value.shape), value, 0, 1e-5 * scale)


def from_opencv(path: Path, inputs: dict[str, Array], outputs: list[str]) -> dict[str, Array]:
    """The results of OpenCV for a Caffe network."""
    cv2 = pytest.importorskip("cv2", reason="opencv-python-headless is the oracle")
    net = cv2.dnn.readNetFromCaffe(str(path), str(path.with_suffix(".caffemodel")))
    for name, value in inputs.items():
        net.setInput(value, name)
    return dict(zip(outputs, map(np.asarray, net.forward(outputs)), strict=True))


def from_ncnn(path: Path, inputs: dict[str, Array], outputs: list[str]) -> dict[str, Array]:
    """The results of ncnn, whose blobs have no batch."""
    values = run_ncnn(path, {name: x[0] for name, x in inputs.items()}, outputs)
    return {name: value[np.newaxis] for name, value in zip(outputs, values, strict=True)}


RUNTIMES = {".prototxt": from_opencv, ".param": from_ncnn}
"""The runtime of each format by the suffix of its networks."""


def check_with_runtime(program: Program, path: Path) -> None:
    """Asserts that the runtime of the format computes what the written program does, too."""
    inputs, expected = check_network(program, path)
    assert_close(RUNTIMES[path.suffix](path, inputs, program.outputs), expected)
