"""Export to Caffe: OpenCV and our importer compute what onnxruntime computes for the original
model, and the same for networks.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.exporters.round_trip import (
    assert_close,
    check_network,
    check_read_back,
    chosen,
    program_of,
    vectors,
    written,
    zoo_network,
)
from tests.importers.models import model
from tests.ops import oracle
from tests.ops.cases.case import Array
from trimtab.errors import ExportModelError
from trimtab.exporters.caffe_ops.graph import EMITTERS
from trimtab.program import Program


def from_opencv(path: Path, inputs: dict[str, Array], outputs: list[str]) -> dict[str, Array]:
    """The results of OpenCV."""
    cv2 = pytest.importorskip("cv2", reason="opencv-python-headless is the oracle")
    net = cv2.dnn.readNetFromCaffe(str(path), str(path.with_suffix(".caffemodel")))
    for name, value in inputs.items():
        net.setInput(value, name)
    return dict(zip(outputs, map(np.asarray, net.forward(outputs)), strict=True))


@pytest.mark.parametrize("id", chosen("caffe"))
def test_an_exported_operator_computes_the_same(id: str, tmp_path: Path) -> None:
    case = vectors()[id]
    program = program_of(case, tmp_path)
    path = written(program, tmp_path / "net.prototxt")
    expected = check_read_back(case, program, path)
    results = from_opencv(path, case.inputs, program.outputs)
    assert {k: v.shape for k, v in results.items()} == {k: v.shape for k, v in expected.items()}
    oracle.assert_agree(case, results, expected)


@pytest.mark.parametrize("id", chosen("only_caffe"))
def test_an_operator_that_opencv_lacks_is_read_back(id: str, tmp_path: Path) -> None:
    case = vectors()[id]
    program = program_of(case, tmp_path)
    check_read_back(case, program, written(program, tmp_path / "net.prototxt"))


def test_every_emitter_is_tested(tmp_path: Path) -> None:
    ids = [*chosen("caffe"), *chosen("only_caffe")]
    used = {op.type for id in ids for op in program_of(vectors()[id], tmp_path).ops}
    used |= {"hard_swish", "swish", "mish", "channel_shuffle"}  # recognized by passes
    assert EMITTERS.all().keys() - used == set()


@pytest.mark.parametrize("name", ["squeezenet", "mobilenet_v2", "shufflenet_v2", "yolo_fastest"])
def test_an_exported_network_computes_the_same(name: str, tmp_path: Path) -> None:
    program = zoo_network(name)
    inputs, expected = check_network(program, tmp_path / "net.prototxt")
    assert_close(from_opencv(tmp_path / "net.prototxt", inputs, program.outputs), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["googlenet", "mobilenet_v1", "mobilenet_v3_small", "resnet18"])
def test_an_exported_larger_network_computes_the_same(name: str, tmp_path: Path) -> None:
    test_an_exported_network_computes_the_same(name, tmp_path)


def test_an_imported_network_is_written_back(tmp_path: Path) -> None:
    program = trimtab.load(model("ultraface_caffe", "RFB-320.prototxt"))
    inputs, expected = check_network(program, tmp_path / "net.caffemodel")
    assert_close(from_opencv(tmp_path / "net.prototxt", inputs, program.outputs), expected)


def test_names_keep_quotes_and_other_letters(tmp_path: Path) -> None:
    program = Program('a "net"')
    x = program.add_input('x "1" \\', (1, 2, 3))
    program.outputs = program.block.add_op("relu", [x], outputs=["größer"])
    again = trimtab.load(written(program, tmp_path / "net.prototxt"))
    assert (again.inputs, again.outputs) == (program.inputs, program.outputs)


@pytest.mark.parametrize(
    ("type", "attributes", "match"),
    [
        ("erf", {}, r"Caffe has no equivalent operator: .*rror function"),
        ("max_pool", {"kernel_shape": [2, 2], "dilations": [2, 2]}, "dilations"),
        ("max_pool", {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0]}, r"pads are \[1, 1, 0, 0\]"),
        ("resize", {"sizes": [7, 9], "mode": "linear"}, r"linear \(half_pixel\)"),
        ("transpose", {"permutation": [0, 1, 2, 3]}, ""),
    ],
)
def test_what_caffe_cannot_express_is_refused_by_name(
    type: str, attributes: dict[str, object], match: str, tmp_path: Path
) -> None:
    program = Program("net")
    x = program.add_input("x", (1, 8, 6, 6))
    program.outputs = program.block.add_op(type, [x], attributes, name="one")
    if not match:
        assert trimtab.load(written(program, tmp_path / "net.prototxt")).outputs == program.outputs
        return
    with pytest.raises(ExportModelError, match=match) as caught:
        written(program, tmp_path / "net.prototxt")
    assert "operator one" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_network_for_several_images_keeps_its_batch_free(tmp_path: Path) -> None:
    program = Program("net")
    x = program.add_input("x", (2, 3, 4, 4))
    program.outputs = program.block.add_op("reshape", [x], {"shape": [2, 48]}, ["y"])
    path = written(program, tmp_path / "net.prototxt")
    assert trimtab.load(path, {"x": (5, 3, 4, 4)}).vars["y"].shape == (5, 48)
