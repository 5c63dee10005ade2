"""Files that a network is quantized with: what is wrong in them is said, with what to do."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from trimtab.errors import CalibrationError, UsageError
from trimtab.program import Program
from trimtab.quantization import samples
from trimtab.quantization.calibration import calibrate
from trimtab.quantization.observer import Range
from trimtab.quantization.ranges import Ranges

HEAD = 'network="n"\nmethod="m"\nsamples=1\n'
INPUTS = {"data": ((1, 3, 4, 6), "float32")}
DATA = np.random.default_rng(1).normal(0, 1, (6, 3, 4, 6)).astype(np.float32)


def network() -> Program:
    program = Program("net")
    x = program.add_input("data", (1, 3, 4, 6))
    weights = program.block.add_constant(np.ones((2, 3, 1, 1), np.float32))
    (y,) = program.block.add_op("conv", [x, weights], None, ["y"])
    program.block.add_op("relu", [y], None, ["z"])
    program.outputs = ["z"]
    return program


def damaged(path: Path) -> None:
    """Compressed data of an .npz file that cannot be unpacked."""
    np.savez_compressed(path, data=np.repeat(DATA, 20, axis=0))
    content = bytearray(path.read_bytes())
    content[500:600] = b"\xff" * 100
    path.write_bytes(content)


def cut_off(path: Path) -> None:
    np.savez(path, data=DATA)
    path.write_bytes(path.read_bytes()[:900])


def of_objects(path: Path) -> None:
    np.savez(path, data=np.array([{}], dtype=object))


def with_nan(path: Path) -> None:
    np.savez(path, data=np.full((1, 3, 4, 6), np.nan))


def pickled(path: Path) -> None:
    path.write_bytes(b"\x80\x04K\x01.")


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (damaged, "not a readable .npz file"),
        (cut_off, "not a readable .npz file"),
        (of_objects, "has Python objects, not numbers"),
        (with_nan, "not finite numbers"),
        (pickled, "damaged, or not an .npz file"),
    ],
)
def test_a_file_of_arrays_that_cannot_be_used_is_refused_with_what_to_do(
    write: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.npz"
    write(path)
    with pytest.raises(CalibrationError, match=said) as caught:
        samples.read(path, INPUTS)
    assert caught.value.where == str(path)
    assert caught.value.hint
    assert "pickle" not in str(caught.value)


def test_an_array_without_a_name_is_no_file_of_samples(tmp_path: Path) -> None:
    np.save(tmp_path / "single.npy", DATA)
    with pytest.raises(CalibrationError, match="a single array without a name") as caught:
        samples.read(tmp_path / "single.npy", INPUTS)
    assert "numpy.savez" in caught.value.hint


def test_a_single_picture_is_answered_with_its_folder(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    with pytest.raises(CalibrationError, match="a single picture") as caught:
        samples.read(tmp_path / "a.png", INPUTS)
    assert "folder" in caught.value.hint


@pytest.mark.parametrize(
    "settings", ["scale = 0", "scale = [1, 0, 1]", "scale = nan", "mean = inf", "= =", "sigma = 3"]
)
def test_settings_of_pictures_that_make_no_sense_are_refused_with_what_to_do(
    settings: str, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(b"no picture")
    (tmp_path / samples.SETTINGS).write_text(settings)
    with pytest.raises(CalibrationError) as caught:
        samples.read(tmp_path, INPUTS)
    assert caught.value.where == str(tmp_path / samples.SETTINGS)
    assert caught.value.hint
    (tmp_path / samples.SETTINGS).unlink()
    with pytest.raises(CalibrationError, match="is not a picture") as caught:
        samples.read(tmp_path, INPUTS).feed(0)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("=", "not a TOML file"),
        (
            HEAD.replace("1", "-4") + "[ranges]\n[means]\n[factors]",
            "`samples` must be an integer of at least 1",
        ),
        (
            HEAD.replace("1", "true") + "[ranges]\n[means]\n[factors]",
            "`samples` must be an integer of at least 1",
        ),
        (HEAD + "[ranges]\na=[1.0, 2.0]\n[means]\n[factors]", "'a' is .*must contain 0"),
        (HEAD + "[ranges]\na=[0.0, 0.0]\n[means]\n[factors]", "'a' is .*too narrow"),
        (HEAD + "[ranges]\na=[0.0, 1e-300]\n[means]\n[factors]", "'a' is .*too narrow"),
        (HEAD + "[ranges]\na=[-1e39, 1e39]\n[means]\n[factors]", "'a' is .*two float32 numbers"),
        (HEAD + "[ranges]\n[means]\na=[1e300]\n[factors]", "means of 'a'"),
    ],
)
def test_ranges_that_make_no_sense_are_refused_with_file_key_and_what_to_do(
    text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "ranges.toml"
    path.write_text(text)
    with pytest.raises(CalibrationError, match=said) as caught:
        Ranges.read(path)
    assert caught.value.where == str(path)
    assert "delete" in caught.value.hint


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ranges": {"nosuch": Range(0, 1)}}, "ranges. has .nosuch., a tensor"),
        ({"means": {"nosuch": (1.0,)}}, "means. has .nosuch., a tensor"),
        ({"means": {"data": (1.0, 2.0)}}, "'data' has 2 means, but 3 channels"),
        ({"means": {"z": (1.0,)}}, "means. has .z., which no operator"),
        ({"factors": {"data": (1.0, 2.0, 3.0)}}, "the factors of 'data' do not fit"),
    ],
)
def test_ranges_that_do_not_fit_the_network_name_their_file_and_what_to_do_with_it(
    changed: dict[str, Any], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "ranges.toml"
    Ranges("net", "mse", 1, **({"ranges": {}} | changed)).write(path)
    with pytest.raises(CalibrationError, match=said) as caught:
        trimtab.quantize(network(), {"data": DATA}, ranges=Ranges.read(path))
    assert caught.value.where == str(path)
    assert f"delete or rename {path}" in caught.value.hint


def test_a_file_of_ranges_has_a_tensor_to_a_line_and_each_may_be_deleted(tmp_path: Path) -> None:
    path, names = tmp_path / "ranges.toml", ["a", 'quo"ted\\', "b.c/d é", "\x7f\n"]
    ends = {name: Range(-1e-30, np.float64(2.5)) for name in names}
    numbers = dict.fromkeys(names, (0.1, 1e30, 3.0))
    kept = Ranges("n\tet", "mse", 9, ends, numbers, numbers)
    kept.write(path)
    assert Ranges.read(path) == kept
    lines = path.read_text().splitlines()
    assert sum(bool(re.search(r"= \[", line)) for line in lines) == 3 * len(names)
    for i, line in enumerate(lines):
        if "= [" in line:
            path.write_text("\n".join(lines[:i] + lines[i + 1 :]))
            left = Ranges.read(path)
            found = sum(len(part) for part in (left.ranges, left.means, left.factors))
            assert found == 3 * len(names) - 1
    assert tomllib.loads("\n".join(lines))["means"][names[0]] == list(numbers[names[0]])


def test_a_tensor_that_held_nothing_but_0_has_no_range_and_stays_in_floating_point(
    tmp_path: Path,
) -> None:
    program = network()
    found, _ = calibrate(program, samples.of_arrays({"data": -abs(DATA)}, INPUTS))
    assert {*found.ranges} == {"data", "y"}
    found.write(tmp_path / "ranges.toml")
    assert Ranges.read(tmp_path / "ranges.toml") == found
    made = trimtab.quantize(program, {"data": -abs(DATA)}, ranges=found)
    relu = next(op for op in made.program.ops if op.type == "relu")
    assert relu.outputs == ["z"]  # its result is not rounded


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "the samples are None"),
        ({"data": [1, 2]}, "'data' are a list"),
        (3, "the samples are a.* int"),
    ],
)
def test_what_are_no_samples_is_a_mistake_of_the_call(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        trimtab.quantize(network(), given)
    assert caught.value.hint


def test_ranges_by_their_path_are_a_mistake_of_the_call() -> None:
    with pytest.raises(UsageError, match=r"ranges are a str"):
        trimtab.quantize(network(), {"data": DATA}, ranges="r.toml")  # type: ignore[arg-type]
