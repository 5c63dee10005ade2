"""Darknet networks: a .cfg (text) with its .weights.

`trimtab.importers.darknet_ops` translates sections into operators. Layers are those of
https://github.com/AlexeyAB/darknet and https://github.com/pjreddie/darknet; where they differ, the
former applies. A detection head returns boxes in OpenCV's form: x, y, width and height relative to
the image, objectness, and scores. To get a raw head, name the layer before it as an output: the
name of a layer is its type and index, such as `convolutional_120`.
"""

from __future__ import annotations

from pathlib import Path

from trimtab.importers._files import existing, head, text_and_weights
from trimtab.importers._inputs import Shapes
from trimtab.program import Program

SUFFIXES = (".cfg", ".weights")
INT8_MARKS = ()  # the format has no quantized values


def sniff(path: Path) -> bool:
    """Whether the file is a text whose first section is [net]."""
    text = head(path, 2**12).decode("ascii", errors="replace")
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and line[0] not in "#;"), "")
    return first in ("[net]", "[network]")


def files(path: Path) -> list[Path]:
    """The .cfg and the .weights of the network."""
    return existing(*_pair(path))


def load(path: Path, inputs: Shapes) -> Program:
    """Translates the network at `path`, or the one beside the weights at `path`.

    A network without weights needs no .weights file. A shape for `data` in `inputs` replaces that
    of the .cfg. See `trimtab.importers.Importer` for errors.
    """
    from trimtab.importers.darknet_ops import network

    return network.load(*_pair(path), inputs)


def _pair(path: Path) -> tuple[Path, Path | None]:
    return text_and_weights(path, *SUFFIXES, sniff)
