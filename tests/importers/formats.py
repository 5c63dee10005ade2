"""The part of a format in the contract of the importers' files (test_files_contract.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.importers.damage import Damage
from tests.ops.cases.case import Array
from trimtab.errors import TrimtabError

Write = Callable[[Path], Path]
"""Writes a model into a folder and returns the file to load."""

Kind = type[TrimtabError] | None

SHAPE = (1, 2, 4, 4)
"""The shape of all values of the networks of `Format.layers`, whose input is `x`."""


MISSING = r"'conv' .*: its weights are missing"


@dataclass(frozen=True)
class Layer:
    """A layer of one operand."""

    type: str
    name: str
    reads: str
    writes: str


@dataclass(frozen=True)
class Fault:
    """A model that is refused: loaded with shapes of `inputs`, it raises an error of `kind`, by
    default that of the sentence, whose message matches all of `says` but not `never`, and whose
    hint has `hint` in it.
    """

    write: Write
    says: Sequence[str]
    kind: Kind
    hint: str
    never: str
    inputs: Mapping[str, Sequence[int]]


def fault(
    write: Write, *says: str, kind: Kind = None, hint: str = "", never: str = "$.", **inputs: Any
) -> Fault:
    """A fault in one line."""
    return Fault(write, says, kind, hint, never, inputs)


@dataclass(frozen=True)
class Format:
    """The part of a format. It has none in a sentence whose field is empty."""

    network: Write  # a small one in files called net, with weights
    feeds: Mapping[str, Array]  # the value of its only input, by name
    expected: Callable[[Path], Mapping[str, Array]]  # its outputs, by another program or numpy
    layers: Callable[[Path, Sequence[Layer], Sequence[str]], Path]  # writes layers and outputs
    relu: str  # the type of a ReLU
    resized: tuple[Write, Sequence[int], Sequence[int]]  # a network; shapes of input, last output
    unsupported: Fault  # several layers that are unsupported in different ways
    mistakes: Mapping[str, Fault]
    models: Callable[[], Mapping[str, Write]]  # of the test cases of layers, for damage and fuzzing
    place: str = "'{name}' ({type})"  # how errors spell that of a layer, with its fields or `index`
    free: Fault | None = None  # an input whose shape has to be given
    unfit: Sequence[Fault] = ()  # shapes that inputs cannot have
    weights: Sequence[Fault] = ()  # in another file that is missing or does not fit
    structures: Mapping[str, Damage] = field(default_factory=dict)  # damage of files by name
    names_values: bool = True  # whether layers name the values that they read and write
    assigns_once: bool = True  # whether no layer writes a value of another one again
    declares_outputs: bool = True
    replaces_names: bool = True  # that are not UTF-8, rather than refusing them


def file(name: str, content: Callable[[], bytes]) -> Write:
    """Writes a model of one file."""

    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content())
        return folder / name

    return write


def damaged(network: Write, name: str, change: Callable[[bytes], bytes]) -> Write:
    """Writes a network whose file `name`, by default the one to load, is changed."""

    def write(folder: Path) -> Path:
        path = network(folder)
        victim = folder / (name or path.name)
        content = victim.read_bytes()
        victim.write_bytes(change(content))
        assert victim.read_bytes() != content
        return path

    return write


def without(network: Write, name: str) -> Write:
    """Writes a network without its file `name`."""

    def write(folder: Path) -> Path:
        path = network(folder)
        (folder / name).unlink()
        return path

    return write


def edited(
    network: Write, rows: Iterable[tuple[str, str, str]], kind: Kind = None
) -> dict[str, Fault]:
    """Mistakes in the text of a network: a part of it, what replaces that, what the error says."""

    def changed(old: str, new: str) -> Write:
        return damaged(network, "", lambda text: text.replace(old.encode(), new.encode()))

    every = enumerate(rows)
    return {f"edit {i}, {s}": fault(changed(old, new), s, kind=kind) for i, (old, new, s) in every}


def texts(network: Write, rows: Iterable[tuple[str, str]]) -> dict[str, Fault]:
    """Mistakes that are the whole text of a network, each with what the error says."""

    def of(text: str) -> Write:
        return damaged(network, "", lambda _: text.encode())

    return {f"text {i}, {says}": fault(of(text), says) for i, (text, says) in enumerate(rows)}


def convolved(x: Array, weights: Array, bias: Array) -> Array:
    """ReLU of a convolution of one picture."""
    size = weights.shape[2:]
    windows = np.lib.stride_tricks.sliding_window_view(x[0].astype(np.float64), size, (1, 2))
    result = np.einsum("cyxij,mcij->myx", windows, weights) + bias[:, None, None]
    return np.asarray(result.clip(0)[None], np.float32)
