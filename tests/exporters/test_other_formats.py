"""Export to Caffe and ncnn: OpenCV, ncnn and our importer compute what onnxruntime computes for the
original model, and the same for networks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trimtab
from tests.exporters.round_trip import (
    RUNTIMES,
    assert_close,
    check_network,
    check_read_back,
    check_with_runtime,
    chosen,
    parts,
    program_of,
    vectors,
    written,
)
from tests.importers.models import model
from tests.ops import oracle
from trimtab import zoo
from trimtab.exporters._emitters import Emitters
from trimtab.exporters.caffe_ops.graph import EMITTERS as CAFFE
from trimtab.exporters.ncnn_ops.graph import EMITTERS as NCNN

every_format = pytest.mark.parametrize("suffix", RUNTIMES)


@pytest.mark.parametrize(
    ("suffix", "id"),
    [
        *((".prototxt", id) for id in chosen("caffe")),
        *((".param", id) for id in chosen("ncnn")),
    ],
)
def test_an_exported_operator_computes_the_same(suffix: str, id: str, tmp_path: Path) -> None:
    case = vectors()[id]
    program = program_of(case, tmp_path)
    path = written(program, tmp_path / f"net{suffix}")
    expected = check_read_back(case, program, path)
    results = RUNTIMES[suffix](path, case.inputs, program.outputs)
    assert {k: v.shape for k, v in results.items()} == {k: v.shape for k, v in expected.items()}
    oracle.assert_agree(case, results, expected)


FUSED = {"hard_swish", "swish", "mish", "channel_shuffle"}
"""Operators that passes recognize."""
WITH_TWO_IMAGES = {"layer_normalization", "space_to_depth", "slice", "expand", "reduce_max"}
"""Operators whose vectors have two images, which ncnn cannot have; tests of ncnn have them."""


@pytest.mark.parametrize(
    ("emitters", "lists", "others"),
    [
        (CAFFE, ("caffe", "only_caffe"), FUSED),
        (NCNN, ("ncnn",), {*FUSED, *WITH_TWO_IMAGES, "gelu"}),
    ],
    ids=["caffe", "ncnn"],
)
def test_every_emitter_is_tested(
    emitters: Emitters[Any], lists: tuple[str, ...], others: set[str], tmp_path: Path
) -> None:
    programs = [program_of(vectors()[id], tmp_path) for name in lists for id in chosen(name)]
    used = {op.type for program in programs for op in program.ops}
    assert emitters.all().keys() - used - others == set()


@every_format
@pytest.mark.parametrize("name", ["squeezenet", "mobilenet_v2", "shufflenet_v2", "yolo_fastest"])
def test_an_exported_network_computes_the_same(name: str, suffix: str, tmp_path: Path) -> None:
    check_with_runtime(trimtab.load(zoo.cached(name)), tmp_path / f"net{suffix}")


@pytest.mark.slow
@every_format
@pytest.mark.parametrize("name", ["googlenet", "mobilenet_v1", "mobilenet_v3_small", "resnet18"])
def test_a_larger_network_computes_the_same(name: str, suffix: str, tmp_path: Path) -> None:
    check_with_runtime(trimtab.load(zoo.cached(name)), tmp_path / f"net{suffix}")


@pytest.mark.parametrize(
    ("folder", "suffix", "file", "shapes"),
    [
        ("ultraface_caffe", ".prototxt", "net.caffemodel", {}),
        ("ultraface_ncnn", ".param", "net.param", {"input": (1, 3, 240, 320)}),
    ],
)
def test_an_imported_network_is_written_back(
    folder: str, suffix: str, file: str, shapes: dict[str, tuple[int, ...]], tmp_path: Path
) -> None:
    program = trimtab.load(model(folder, f"RFB-320{suffix}"), shapes)
    inputs, expected = check_network(program, tmp_path / file)
    results = RUNTIMES[suffix](tmp_path / f"net{suffix}", inputs, program.outputs)
    assert_close(results, expected)


@every_format
def test_later_results_of_a_layer_are_outputs_by_their_names(suffix: str, tmp_path: Path) -> None:
    check_with_runtime(parts(), tmp_path / f"net{suffix}")
