"""Labeled data: folders of pictures by class, or arrays by the names of a network's inputs.

* `FOLDER/CLASS/PICTURE`: the folders of classes, in their order, have the labels 0, 1, ...; those
  that are numbers come in the order of numbers. `FOLDER/pictures.toml` has the preprocessing.
* `FOLDER/NAME.npy`, or an .npz file with arrays by name: inputs and targets [examples, ...].

`FOLDER/train` and `FOLDER/test` separate the two parts; without them, all data are for training.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import array_files
from trimtab.errors import UsageError
from trimtab.quantization.picture_samples import (
    PICTURES,
    SETTINGS,
    Pictures,
    open_picture,
    read_picture,
)

Array = NDArray[Any]
Inputs = Mapping[str, tuple[tuple[int, ...], str]]
"""Shape, with the batch as first dimension, and numpy dtype by input of a step."""

TRAIN, TEST = "train", "test"
_CACHED = 4096  # pictures
_CHECKED = 2**20  # elements of labels that are checked at a time
_HINT = "give a folder of class folders with pictures, a folder of .npy files, or an .npz file"


@dataclass(frozen=True)
class Examples:
    """Examples by number: `feed(i)` returns an array per input, without the dimension of the batch.

    `classes`: the names of the labels, if folders have them.
    """

    count: int
    feed: Callable[[int], Mapping[str, Array]]
    classes: tuple[str, ...] = ()

    def batch(self, indices: NDArray[np.int64]) -> dict[str, Array]:
        """Examples with these numbers, as a batch."""
        rows = [self.feed(int(i)) for i in indices]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    def shuffled(self, step: int, size: int, seed: int) -> dict[str, Array]:
        """The batch of a training step: each pass over the examples has an order of its own."""
        places = np.arange(step * size, (step + 1) * size)
        passes = places // self.count
        orders = {n: _order(self.count, int(n), seed) for n in np.unique(passes)}
        indices = [orders[n][place % self.count] for n, place in zip(passes, places, strict=True)]
        return self.batch(np.array(indices))

    def in_order(self, step: int, size: int) -> dict[str, Array]:
        """The batch of a test step: the examples in their order, from the first one again."""
        return self.batch(np.arange(step * size, (step + 1) * size) % self.count)


@lru_cache(2)
def _order(count: int, number: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng((seed, 0x5EED, number)).permutation(count)


def part(path: Path, name: str) -> Path | None:
    """The part of the data for training or for tests; None if there is none."""
    if not path.exists():
        raise UsageError("there is no such file or folder", where=str(path), hint=_HINT)
    if any((path / one).is_dir() for one in (TRAIN, TEST)):
        return path / name if (path / name).is_dir() else None
    return path if name == TRAIN else None


def example_shape(path: Path, name: str) -> tuple[int, ...] | None:
    """The shape of an example's input `name`; that of the first picture, if there are pictures.
    None if the data do not have it. CalibrationError if the picture cannot be read.
    """
    arrays = _arrays(path)
    if arrays is not None:
        return arrays[name].shape[1:] if name in arrays else None
    image = open_picture(_pictures(path)[0][0], None)
    return (1 if image.mode in ("1", "L", "I;16") else 3, image.height, image.width)


def read(path: Path, inputs: Inputs, settings: Pictures | None = None) -> Examples:
    """The examples at `path` for the inputs and targets of a training. `settings` replaces the
    preprocessing of pictures, and scales arrays of bytes.

    UsageError for other files, names or shapes than the training needs.
    """
    arrays = _arrays(path)
    if arrays is not None:
        return _of_arrays(path, arrays, inputs, settings)
    return _of_pictures(path, inputs, settings or Pictures.read(path / SETTINGS))


def _arrays(path: Path) -> Mapping[str, Array] | None:
    """Arrays by name, of which the files of a folder are mapped; None if there are pictures."""
    if path.is_dir():
        files = sorted(path.glob("*.npy"))
        archives = sorted(path.glob("*.npz"))
        if not files and len(archives) == 1:
            return _arrays(archives[0])
        read_array = partial(array_files.read_array, error=UsageError, hint=_HINT)
        return {file.stem: read_array(file) for file in files} or None
    return array_files.read_archive(path, error=UsageError, hint=_HINT)


def _of_arrays(
    path: Path, arrays: Mapping[str, Array], inputs: Inputs, settings: Pictures | None
) -> Examples:
    names = ", ".join(f"{name} {list(shape[1:])}" for name, (shape, _) in inputs.items())
    if missing := sorted(inputs.keys() - arrays.keys()):
        raise UsageError(
            f"there is no array {missing[0]!r}, but {', '.join(arrays) or 'none'}",
            where=str(path),
            hint=f"the training needs, for each example: {names}",
        )
    for name, (shape, dtype) in inputs.items():
        _check_elements(arrays[name], np.dtype(dtype), name, str(path))
        own = arrays[name].shape
        if not own or math.prod(own[1:]) != math.prod(shape[1:]):
            raise UsageError(
                f"array {name!r} is {list(own)}",
                where=str(path),
                hint=f"the training needs, for each example: {names}",
            )
    counts = {len(arrays[name]) for name in inputs}
    if len(counts) != 1 or 0 in counts:
        raise UsageError("its arrays have different numbers of examples, or none", where=str(path))

    def feed(i: int) -> dict[str, Array]:
        return {
            name: _finite(
                _typed(arrays[name][i], np.dtype(dtype), settings), f"{path}: array {name!r}", i
            ).reshape(shape[1:])
            for name, (shape, dtype) in inputs.items()
        }

    return Examples(counts.pop(), feed)


def _check_elements(array: Array, dtype: np.dtype[Any], name: str, where: str) -> None:
    """UsageError for elements that are not numbers, or that an integer input cannot hold."""
    if array.dtype.kind not in "biuf":
        raise UsageError(
            f"array {name!r} has elements that are not numbers ({array.dtype})",
            where=where,
            hint=f"the training needs numbers of {dtype}",
        )
    if dtype.kind not in "iu" or not array.ndim or not array.size:
        return
    ends = np.iinfo(dtype)
    for rows in np.array_split(array, -(-array.size // _CHECKED)):
        wrong = ~((rows >= ends.min) & (rows <= ends.max))
        if rows.dtype.kind == "f":
            wrong |= rows != np.floor(rows)
        if wrong.any():
            raise UsageError(
                f"array {name!r} has the element {rows[wrong][0]}, which is not a whole number of"
                f" {dtype}",
                where=where,
                hint="labels are whole numbers from 0 on; a network with real targets has another"
                " loss, such as euclidean",
            )


def _finite(array: Array, where: str, i: int) -> Array:
    """The elements of example `i`; UsageError if they are not finite."""
    if not np.isfinite(array).all():
        raise UsageError(
            f"example {i} has elements that are not finite numbers of {array.dtype}",
            where=where,
            hint="remove examples with NaN or infinity (numpy.isfinite finds them)",
        )
    return array


def _typed(array: Array, dtype: np.dtype[Any], settings: Pictures | None) -> Array:
    """An element of an array in the type of an input; bytes are pixels."""
    if array.dtype == np.uint8 and dtype.kind == "f" and array.ndim >= 2:
        chosen = settings or Pictures()
        mean, scale = (
            np.array(v, np.float32).reshape(-1, 1, 1) for v in (chosen.mean, chosen.scale)
        )
        pixels: Array = ((array - mean) * scale).astype(dtype)
        return pixels
    with np.errstate(over="ignore"):  # an infinite element is refused
        return np.asarray(array, dtype)


def _pictures(path: Path) -> tuple[list[Path], list[int], tuple[str, ...]]:
    """Pictures, their labels, and the names of the classes; UsageError if there are none."""
    folders = [folder for folder in path.iterdir() if folder.is_dir()] if path.is_dir() else []
    by_class = {
        folder.name: sorted(f for f in folder.iterdir() if f.suffix.lower() in PICTURES)
        for folder in sorted(folders, key=lambda f: (_number(f.name), f.name))
    }
    classes = tuple(name for name, pictures in by_class.items() if pictures)
    if not classes:
        raise UsageError("there are neither pictures nor arrays", where=str(path), hint=_HINT)
    files = [(file, label) for label, name in enumerate(classes) for file in by_class[name]]
    return [file for file, _ in files], [label for _, label in files], classes


def _number(name: str) -> float:
    return int(name) if name.isascii() and name.isdigit() else math.inf


def _of_pictures(path: Path, inputs: Inputs, settings: Pictures) -> Examples:
    files, labels, classes = _pictures(path)
    images = {name: shape for name, (shape, dtype) in inputs.items() if dtype == "float32"}
    targets = [name for name, (shape, dtype) in inputs.items() if dtype == "int32"]
    shapes = [*images.values()]
    is_image = len(shapes) == len(targets) == 1 and len(shapes[0]) == 4 and shapes[0][1] in (1, 3)
    if not is_image or math.prod(inputs[targets[0]][0][1:]) != 1:
        listed = ", ".join(f"{name} {dtype}{list(s)}" for name, (s, dtype) in inputs.items())
        raise UsageError(
            f"pictures in class folders do not fit the inputs {listed}",
            where=str(path),
            hint="they need one image with 1 or 3 channels and one label; give .npy or .npz arrays",
        )
    ((data, shape),) = images.items()
    label, label_shape = targets[0], inputs[targets[0]][0][1:]

    @lru_cache(_CACHED)
    def picture(i: int) -> Array:
        pixels: Array = read_picture(files[i], (1, *shape[1:]), settings)[0]
        return pixels

    def feed(i: int) -> dict[str, Array]:
        return {data: picture(i), label: np.full(label_shape, labels[i], np.int32)}

    return Examples(len(files), feed, classes)
