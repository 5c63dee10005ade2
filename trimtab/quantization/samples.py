"""Calibration samples: arrays in an .npz file, or of any other source, by number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import array_files, input_arrays
from trimtab.errors import CalibrationError

Array = NDArray[Any]
Feed = Mapping[str, Array]

_HELD_OUT = 5  # every fifth sample is held out of calibration


@dataclass(frozen=True)
class Samples:
    """Samples by number: `feed(i)` returns an array for every graph input, in its shape and type.

    `is_seeded`: the samples are seeded noise instead of data. `origin`: what made them of pictures,
    in words; "" for arrays.
    """

    count: int
    feed: Callable[[int], Feed]
    is_seeded: bool = False
    origin: str = ""

    @property
    def calibrating(self) -> Samples:
        """The samples for ranges; all, if there are too few to hold any out."""
        return self._subset([i for i in range(self.count) if not self._is_held_out(i)])

    @property
    def held_out(self) -> Samples:
        """The samples that measure accuracy: every fifth one; all, if there are fewer than five."""
        indices = [i for i in range(self.count) if self._is_held_out(i)]
        return self._subset(indices) if indices else self

    def half(self, i: int) -> int:
        """0 or 1: the half of a sample, which contains its neighbors, because these are similar."""
        return 2 * i // self.count

    def __iter__(self) -> Iterator[Feed]:
        return map(self.feed, range(self.count))

    def _is_held_out(self, i: int) -> bool:
        return i % _HELD_OUT == _HELD_OUT - 1

    def _subset(self, indices: Sequence[int]) -> Samples:
        feed = self.feed
        return replace(self, count=len(indices), feed=lambda i: feed(indices[i]))


Inputs = Mapping[str, tuple[tuple[int, ...], str]]
"""Shape and numpy dtype name by graph input."""


def check_exists(path: Path) -> None:
    """CalibrationError if there is neither a file nor a folder at `path`."""
    if not (path.is_dir() or path.is_file()):
        raise CalibrationError(
            "no such file or folder",
            where=str(path),
            hint="give an .npz file with an array for every input, or a folder of pictures",
        )


def of_arrays(
    arrays: Mapping[str, Array],
    inputs: Inputs,
    where: str = "samples",
    *,
    cast: bool = False,
    how: str = "cast=True",
) -> Samples:
    """The n samples in arrays [n * b, ...] or [n, b, ...], for inputs of shape [b, ...].

    The arrays have the element types of the inputs, or are converted by `cast`, which `how` names
    for users.
    """
    if set(arrays) != set(inputs):
        raise CalibrationError(
            f"its arrays are {', '.join(arrays) or 'none'}",
            where=where,
            hint=f"the inputs of the network are {', '.join(inputs)}",
        )
    typed = {
        name: input_arrays.converted(
            arrays[name],
            np.dtype(dtype),
            name=name,
            cast=cast,
            error=CalibrationError,
            where=where,
            how=how,
        )
        for name, (_, dtype) in inputs.items()
    }
    split = {name: _split(name, typed[name], shape, where) for name, (shape, _) in inputs.items()}
    counts = {name: len(rows) for name, rows in split.items()}
    if len(set(counts.values())) != 1 or not min(counts.values()):
        listed = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise CalibrationError(
            f"the number of samples must be equal and not 0: {listed}",
            where=where,
            hint="provide the same number of samples for every input, 100 or more of real data",
        )
    return Samples(min(counts.values()), lambda i: {name: rows[i] for name, rows in split.items()})


def _split(name: str, array: Array, shape: tuple[int, ...], where: str) -> Array:
    whole = array.shape[1:] == shape
    rows = array.ndim == len(shape) and array.shape[1:] == shape[1:]
    if not (whole or (rows and array.shape[0] % shape[0] == 0)):
        raise CalibrationError(
            f"array '{name}' has the shape {list(array.shape)}",
            where=where,
            hint=f"input '{name}' is {list(shape)}: stack samples along the first axis",
        )
    if not np.isfinite(array).all():
        raise CalibrationError(
            f"array '{name}' has elements that are not finite numbers",
            where=where,
            hint="remove samples with NaN or infinity (numpy.isfinite finds them)",
        )
    return array.reshape(-1, *shape)


_NPZ_HINT = "write it with numpy.savez(path, INPUT=array)"


def of_archive(path: Path, inputs: Inputs, *, cast: bool = False) -> Samples:
    """The samples in the .npz file at `path`; CalibrationError if they do not fit."""
    arrays = array_files.read_archive(path, error=CalibrationError, hint=_NPZ_HINT)
    how = "cast=True, or --cast of a task,"
    return of_arrays(arrays, inputs, str(path), cast=cast, how=how)


def noise(inputs: Inputs, count: int = 20) -> Samples:
    """Seeded noise, for untrained networks such as those of the zoo.

    Images: standard normal on a grid of 8 x 8, interpolated linearly. Other shapes: standard
    normal. Integers, which may be indices: 0 or 1.
    """

    def feed(i: int) -> Feed:
        rng = np.random.default_rng((7, i))
        return {name: _noise(rng, shape, dtype) for name, (shape, dtype) in inputs.items()}

    return Samples(count, feed, is_seeded=True)


def _noise(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    is_float = np.dtype(dtype).kind == "f"
    return (_smooth(rng, shape) if is_float else rng.integers(0, 2, shape)).astype(dtype)


def _smooth(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    if len(shape) != 4:
        return rng.standard_normal(shape)
    values = rng.standard_normal((*shape[:2], 8, 8))
    for axis in (2, 3):
        at = np.linspace(0, 7, shape[axis])
        low = np.minimum(at.astype(int), 6)
        weight = np.reshape(at - low, [-1 if a == axis else 1 for a in range(4)])
        values = values.take(low, axis) * (1 - weight) + values.take(low + 1, axis) * weight
    return values
