"""Copies and pickles of programs, from models and from .ttm files."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from trimtab import modelfile
from trimtab.errors import TtmError
from trimtab.program import Program

X = np.random.default_rng(3).standard_normal((1, 3, 8, 8), np.float32)


def network() -> Program:
    program = Program("small")
    x = program.add_input("x", X.shape)
    weights = np.random.default_rng(4).standard_normal((5, 3, 3, 3), np.float32)
    name = program.block.add_constant(weights, "weights")
    program.outputs = program.block.add_op("conv", [x, name], {"pads": (1, 1, 1, 1)}, ["y"])
    return program


def from_file(folder: Path) -> Program:
    trimtab.optimize(network()).save(folder / "net.ttm")
    return trimtab.load(folder / "net.ttm")


def pickled(program: Program) -> Any:
    return pickle.loads(pickle.dumps(program))


COPIES = [copy.copy, copy.deepcopy, Program.copy, pickled]


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("decoded", [False, True])
def test_a_program_of_a_ttm_file_can_be_copied(
    tmp_path: Path, copied: Callable[[Program], Program], decoded: bool
) -> None:
    program = from_file(tmp_path)
    expected = trimtab.Session(trimtab.load(tmp_path / "net.ttm")).run(X)["y"]
    if decoded:
        assert program.ops
    twin = copied(program)
    (tmp_path / "net.ttm").unlink()
    assert (twin.image is None) == decoded  # what is not decoded still runs in place
    assert (program.image is None) == decoded
    np.testing.assert_array_equal(trimtab.Session(twin).run(X)["y"], expected)
    assert [str(op) for op in twin.ops] == [str(op) for op in program.ops]
    assert vars(twin).keys() == vars(program).keys()


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_is_independent(tmp_path: Path, copied: Callable[[Program], Program]) -> None:
    for program in (network(), from_file(tmp_path)):
        before = bytes(modelfile.encode(program))
        twin = copied(program)
        twin.inputs.append("z")
        twin.vars["x"].name = "renamed"
        twin.ops[-1].inputs[0] = "other"
        twin.ops[-1].attributes["group"] = 9
        twin.ops.clear()
        assert bytes(modelfile.encode(program)) == before


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_of_a_changed_program_has_the_changes(
    tmp_path: Path, copied: Callable[[Program], Program]
) -> None:
    program = from_file(tmp_path)
    program.outputs = ["x"]  # the block is not decoded yet
    twin = copied(program)
    assert twin.outputs == ["x"]
    assert twin.image is None
    (y,) = trimtab.Session(twin).run(X).values()
    np.testing.assert_array_equal(y, X)


def test_a_damaged_pickle_is_a_typed_error(tmp_path: Path) -> None:
    program = from_file(tmp_path)
    state = program.__getstate__()
    state["image"] = state["image"][:-64] + bytes(64)
    with pytest.raises(TtmError):
        Program().__setstate__(state)


def test_the_text_of_a_program_says_what_it_is(tmp_path: Path) -> None:
    program = from_file(tmp_path)
    tensors = "x f32[1, 3, 8, 8] -> y f32[1, 5, 8, 8]"
    assert repr(program).startswith(f"<Program small: {tensors}; ")
    assert f"planned for {program.target}>" in repr(program)
    assert program.image is not None  # and it still runs in place
    assert repr(network()) == f"<Program small: {tensors}; 1 operators, not planned>"
    assert repr(Program("empty")) == "<Program empty:  -> ; 0 operators, not planned>"


ORIGINS = {
    "front door": """
program = trimtab.Program("net")
program.outputs = program.block.add_op("relu", [program.add_input("in0", (3,))])
""",
    "case of an operator": """
program = trimtab.OperatorCase("relu", [numpy.ones(3, "f4")], [numpy.ones(3)]).program("net")
""",
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_process_that_knows_only_the_front_door_saves_what_it_made(
    origin: str, tmp_path: Path
) -> None:
    code = f"import numpy, sys, trimtab{ORIGINS[origin]}program.save(sys.argv[1])"
    path = tmp_path / "net.ttm"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    x = np.array([-1, 0, 2], np.float32)
    (y,) = trimtab.Session(trimtab.load(path)).run({"in0": x}).values()
    np.testing.assert_array_equal(y, x.clip(0))


def test_a_pickle_is_read_by_a_process_that_has_imported_nothing(tmp_path: Path) -> None:
    (tmp_path / "pickle").write_bytes(pickle.dumps(from_file(tmp_path)))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')))"
    argv = [sys.executable, "-c", code, str(tmp_path / "pickle")]
    assert b"<Program small: x" in subprocess.run(argv, capture_output=True, check=True).stdout
