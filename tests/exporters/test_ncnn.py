"""Export to ncnn: what is peculiar to it; test_other_formats.py has the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.exporters.round_trip import (
    check_read_back,
    check_with_runtime,
    from_ncnn,
    program_of,
    vectors,
    written,
)
from trimtab.errors import ExportModelError, TrimtabError
from trimtab.program import Program


@pytest.mark.slow
def test_every_vector_that_is_written_is_read_back(tmp_path: Path) -> None:
    failures, count = {}, 0
    for id, case in vectors().items():
        program = program_of(case, tmp_path)
        try:
            path = written(program, tmp_path / "net.param")
        except ExportModelError:
            continue  # what ncnn cannot say is refused by name
        count += 1
        try:
            check_read_back(case, program, path)
        except (AssertionError, TrimtabError) as error:
            failures[id] = str(error).strip().splitlines()[0]
    assert failures == {}
    assert count > 500


@pytest.mark.parametrize(
    ("type", "shape", "attributes", "constants"),
    [
        ("layer_normalization", (1, 5, 7), {"axis": 2}, [(7,), (7,)]),
        ("layer_normalization", (1, 3, 5, 7), {"axis": 2, "epsilon": 1e-3}, [(5, 7)]),
        ("space_to_depth", (1, 3, 6, 4), {"block_size": 2}, []),
        ("swish", (1, 3, 5), {"alpha": 1.5}, []),
        ("reduce_mean", (1, 3, 5, 7), {"axes": [1, 3], "keep_dims": False}, []),
        ("reduce_max", (1, 3, 5, 7), {"axes": [2]}, []),
        ("softmax", (1, 3, 5, 7), {"axis": -2}, []),
        ("expand", (5, 1), {"shape": [1, 2, 5, 3]}, []),
        ("pad", (1, 3, 5, 7), {"pads": [0, 1, 2, 0, 0, 3, 1, 2], "mode": "edge"}, []),
        ("pad", (1, 5, 7), {"pads": [0, 1, 2, 0, 3, 1], "value": -2.5}, []),
        ("slice", (1, 9, 8), {"axes": [-1, 1], "starts": [-5, 2], "ends": [-1, 99]}, []),
        ("gemm", (1, 2, 3, 5, 7), {}, [(4, 7), (4,)]),
        ("instance_normalization", (1, 6, 3, 4), {}, [(6,), (6,)]),
    ],
)
def test_an_operator_for_one_image_computes_the_same(
    type: str,
    shape: tuple[int, ...],
    attributes: dict[str, object],
    constants: list[tuple[int, ...]],
    tmp_path: Path,
) -> None:
    program, rng = Program("net"), np.random.default_rng(3)
    full = shape if shape[0] == 1 else (1, *shape)
    x = program.add_input("x", full)
    operands = [
        program.block.add_constant(rng.uniform(0.5, 1.5, n).astype(np.float32)) for n in constants
    ]
    program.outputs = program.block.add_op(type, [x, *operands], attributes, ["y"])
    check_with_runtime(program, tmp_path / "net.param")


def test_names_that_ncnn_cannot_have_are_changed(tmp_path: Path) -> None:
    program = Program("a net")
    x = program.add_input("an input", (1, 2, 3))
    (y,) = program.block.add_op("relu", [x], outputs=["an\toutput"])
    program.outputs = [y, *program.block.add_op("sigmoid", [y], outputs=["an_output"])]
    path = written(program, tmp_path / "net.param")
    again = trimtab.load(path)
    assert (again.inputs, again.outputs) == (["an_input"], ["an_output", "an_output_1"])
    value = np.array([[[-1, 2, 3], [4, 5, -6]]], np.float32)
    results = from_ncnn(path, {"an_input": value}, again.outputs)
    np.testing.assert_array_equal(results["an_output"], value.clip(0))


def refused(program: Program, folder: Path) -> str:
    with pytest.raises(ExportModelError) as caught:
        written(program, folder / "net.param")
    return str(caught.value)


def test_all_operators_that_ncnn_lacks_are_named_at_once(tmp_path: Path) -> None:
    program = Program("net")
    x = program.add_input("x", (1, 8, 6, 6))
    (a,) = program.block.add_op("pad", [x], {"pads": [0] * 7 + [-1]}, name="first")
    (b,) = program.block.add_op("relu", [a])
    window = {"kernel_shape": [2, 2], "dilations": [2, 2]}
    program.outputs = program.block.add_op("max_pool", [b], window, name="second")
    message = refused(program, tmp_path)
    assert "ncnn has no equivalent of 2 operators" in message
    assert "operator first (pad): its pads are [0, 0, 0, 0, 0, 0, 0, -1]" in message
    assert "operator second (max_pool): its dilations is (2, 2)" in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("shape", "match"),
    [((2, 3), "input x"), ((3,), "1 dimensions"), ((1, 1, 1, 1, 1, 1), "6 dimensions")],
)
def test_inputs_that_are_no_blobs_are_refused(
    shape: tuple[int, ...], match: str, tmp_path: Path
) -> None:
    program = Program("net")
    program.outputs = program.block.add_op("relu", [program.add_input("x", shape)])
    assert match in refused(program, tmp_path)
