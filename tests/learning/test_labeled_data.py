"""Labeled data: folders of pictures by class, and arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from trimtab.errors import CalibrationError, UsageError
from trimtab.learning import labeled_data
from trimtab.quantization.picture_samples import Pictures

IMAGE = {"data": ((2, 1, 3, 4), "float32"), "label": ((2,), "int32")}


def pictures(folder: Path, classes: dict[str, int]) -> Path:
    """Gray pictures, whose value is the index of their class times ten plus their number."""
    image = pytest.importorskip("PIL.Image")
    for i, (name, count) in enumerate(classes.items()):
        (folder / name).mkdir(parents=True)
        for n in range(count):
            pixels = np.full((3, 4), 10 * i + n, np.uint8)
            image.fromarray(pixels).save(folder / name / f"{n}.png")
    return folder


def test_folders_of_classes_are_labels_in_the_order_of_numbers_and_names(tmp_path: Path) -> None:
    folder = pictures(tmp_path, {"2": 1, "10": 2, "cat": 1})
    examples = labeled_data.read(folder, IMAGE)
    assert (examples.count, examples.classes) == (4, ("2", "10", "cat"))
    batch = examples.in_order(1, 3)
    assert batch["label"].tolist() == [2, 0, 1]
    np.testing.assert_allclose(batch["data"][:, 0, 0, 0] * 255, [20, 0, 10], atol=1e-4)
    assert batch["data"].shape == (3, 1, 3, 4)
    assert labeled_data.example_shape(folder, "data") == (1, 3, 4)


def test_each_pass_has_every_example_once_in_an_order_of_its_own(tmp_path: Path) -> None:
    np.save(tmp_path / "data.npy", np.arange(10, dtype=np.float32).reshape(10, 1))
    np.save(tmp_path / "label.npy", np.arange(10))
    inputs = {"data": ((2, 1), "float32"), "label": ((2,), "int32")}
    examples = labeled_data.read(tmp_path, inputs)
    steps = [examples.shuffled(step, 4, seed=1)["label"].tolist() for step in range(5)]
    flat = [label for labels in steps for label in labels]
    assert sorted(flat[:10]) == sorted(flat[10:]) == [*range(10)]
    assert flat[:10] != flat[10:] != [*range(10)]
    assert examples.shuffled(3, 4, seed=1)["label"].tolist() == steps[3]  # a resumed training
    assert examples.shuffled(0, 4, seed=2)["label"].tolist() != steps[0]


def test_bytes_are_pixels_and_other_arrays_are_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, data=np.full((3, 3, 4), 100, np.uint8), label=[[0], [1], [2]])
    batch = labeled_data.read(path, IMAGE, Pictures((50.0,), (0.5,))).in_order(0, 2)
    assert (batch["data"] == 25).all()
    assert batch["label"].tolist() == [0, 1]


def test_a_mean_and_a_scale_are_those_of_pixels_alone(tmp_path: Path) -> None:
    path, values = tmp_path / "data.npz", np.full((3, 1, 3, 4), 100, np.float32)
    np.savez(path, data=values, label=[0, 1, 2])
    batch = labeled_data.read(path, IMAGE, Pictures((50.0,), (0.5,))).in_order(0, 2)
    assert (batch["data"] == 100).all()


def test_parts_are_folders_of_their_own(tmp_path: Path) -> None:
    assert labeled_data.part(tmp_path, "train") == tmp_path
    assert labeled_data.part(tmp_path, "test") is None
    (tmp_path / "test").mkdir()
    assert labeled_data.part(tmp_path, "test") == tmp_path / "test"
    assert labeled_data.part(tmp_path, "train") is None
    with pytest.raises(UsageError, match="no such file or folder"):
        labeled_data.part(tmp_path / "none", "train")


def test_data_that_do_not_fit_are_errors_that_say_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="neither pictures nor arrays"):
        labeled_data.read(tmp_path, IMAGE)
    np.save(tmp_path / "data.npy", np.zeros((5, 1, 3, 4), np.float32))
    with pytest.raises(UsageError, match="no array 'label'") as caught:
        labeled_data.read(tmp_path, IMAGE)
    assert "label []" in str(caught.value)
    np.save(tmp_path / "label.npy", np.zeros(4, np.int32))
    with pytest.raises(UsageError, match="different numbers"):
        labeled_data.read(tmp_path, IMAGE)
    np.save(tmp_path / "data.npy", np.zeros((4, 3, 3, 4), np.float32))
    with pytest.raises(UsageError, match=r"array 'data' is \[4, 3, 3, 4\]"):
        labeled_data.read(tmp_path, IMAGE)
    (tmp_path / "data.npy").write_bytes(b"\x93NUMPY broken")
    with pytest.raises(UsageError, match="is not a readable"):
        labeled_data.read(tmp_path, IMAGE)
    folder = pictures(tmp_path / "classes", {"a": 1})
    with pytest.raises(UsageError, match="pictures in class folders do not fit"):
        labeled_data.read(folder, {"data": ((2, 7), "float32"), "label": ((2,), "int32")})


def test_the_shape_of_an_example_is_that_of_the_first_picture(tmp_path: Path) -> None:
    folder = tmp_path / "0"
    folder.mkdir()
    Image.new("L", (7, 5)).save(folder / "a.png")
    assert labeled_data.example_shape(tmp_path, "data") == (1, 5, 7)
    Image.new("RGBA", (7, 5)).save(folder / "a.png")
    assert labeled_data.example_shape(tmp_path, "data") == (3, 5, 7)
    (folder / "a.png").write_bytes(b"no picture")
    with pytest.raises(CalibrationError, match="is not a picture"):
        labeled_data.example_shape(tmp_path, "data")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"label": np.array([0, 1.5, 2])},
            "has the element 1.5, which is not a whole number of int32",
        ),
        ({"label": np.array([0, np.nan, 2])}, "has the element nan"),
        ({"label": np.array([0, 2**40, 2])}, "has the element 1099511627776"),
        ({"label": np.array([0, 1j, 2])}, r"not numbers \(complex128\)"),
        ({"data": np.ones((3, 1, 3, 4), np.complex64)}, r"not numbers \(complex64\)"),
        ({"label": np.array(["a", "b", "c"])}, "not numbers"),
        ({"label": np.array(3)}, r"array 'label' is \[\]"),
    ],
)
def test_elements_that_an_input_cannot_hold_are_refused_before_a_training(
    arrays: dict[str, Any], message: str, tmp_path: Path
) -> None:
    whole: dict[str, Any] = {"data": np.ones((3, 1, 3, 4), np.float32), "label": np.arange(3)}
    np.savez(tmp_path / "data.npz", **(whole | arrays))
    with pytest.raises(UsageError, match=message):
        labeled_data.read(tmp_path / "data.npz", IMAGE)
    for name, array in (whole | arrays).items():
        np.save(tmp_path / f"{name}.npy", array)
    with pytest.raises(UsageError, match=message):
        labeled_data.read(tmp_path, IMAGE)


@pytest.mark.parametrize("value", [np.nan, -np.inf, 1e300])
def test_an_example_without_finite_elements_is_named(value: float, tmp_path: Path) -> None:
    data = np.ones((3, 1, 3, 4))
    data[1, 0, 2, 3] = value
    np.savez(tmp_path / "data.npz", data=data, label=np.array([0.0, 1.0, 2.0]))
    examples = labeled_data.read(tmp_path / "data.npz", IMAGE)
    assert examples.batch(np.array([0, 2]))["label"].tolist() == [0, 2]
    with pytest.raises(UsageError, match="example 1 has elements that are not finite numbers"):
        examples.batch(np.array([0, 1]))


@pytest.mark.parametrize("name", ["data.npz", "data.npy"])
def test_objects_in_a_file_are_refused_and_not_unpickled(name: str, tmp_path: Path) -> None:
    objects = np.array([{}, {}, {}], dtype=object)
    if name == "data.npz":
        np.savez(tmp_path / name, data=objects, label=np.arange(3))
    else:
        np.save(tmp_path / name, objects)
    with pytest.raises(UsageError, match="has Python objects, not numbers"):
        labeled_data.read(tmp_path, IMAGE)
