"""Darknet networks: a .cfg (text) with its .weights.

`trimtab.importers.darknet_ops` turns sections into operators. Layers are those of
https://github.com/AlexeyAB/darknet and https://github.com/pjreddie/darknet; where both differ, the
former. Detection heads become boxes as OpenCV gives them: per box x, y, width, height relative to
the image, objectness, and scores. To get a raw head, ask for the layer before it by name: a layer
is called by its type and index, such as `convolutional_120`.
"""

from __future__ import annotations

from pathlib import Path

from trimtab.importers._files import head, text_and_weights
from trimtab.importers._inputs import Shapes
from trimtab.program import Program

SUFFIXES = (".cfg", ".weights")


def sniff(path: Path) -> bool:
    """Text whose first section is [net]."""
    text = head(path, 2**12).decode("ascii", errors="replace")
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and line[0] not in "#;"), "")
    return first in ("[net]", "[network]")


def load(path: Path, inputs: Shapes) -> Program:
    """The program of the network at `path`, or of the one beside the weights at `path`.

    Without a .weights file a network without weights is a program, too. A given shape of the input
    `data` replaces that of the .cfg. Errors as `trimtab.importers.Importer` lists them.
    """
    from trimtab.importers.darknet_ops import network

    return network.load(*text_and_weights(path, *SUFFIXES, sniff), inputs)
