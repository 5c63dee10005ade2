"""Caffe networks: a .prototxt (text) with its .caffemodel (weights).

Layers and parameters are those of caffe.proto, V1 and current, with the additions of the SSD fork.
`trimtab.importers.caffe_ops` translates layers into operators. Layer catalog:
https://caffe.berkeleyvision.org/tutorial/layers.html.
"""

from __future__ import annotations

from pathlib import Path

from trimtab.importers._files import existing, head, text_and_weights
from trimtab.importers._inputs import Shapes
from trimtab.program import Program

SUFFIXES = (".prototxt", ".caffemodel")
INT8_MARKS = ()  # the format has no quantized values


def sniff(path: Path) -> bool:
    """Whether the file is a text with a layer in it; weights alone cannot be recognized."""
    text = head(path, 2**16).decode("ascii", errors="replace")
    return any(
        line.split("#")[0].replace(":", "").replace(" ", "").startswith(("layer{", "layers{"))
        for line in text.splitlines()
    )


def files(path: Path) -> list[Path]:
    """The .prototxt and the .caffemodel of the network."""
    return existing(*_pair(path))


def load(path: Path, inputs: Shapes) -> Program:
    """Translates the network at `path`, or the one beside the weights at `path`.

    A network without weights needs no .caffemodel. Shapes in `inputs` replace the declared ones.
    See `trimtab.importers.Importer` for errors.
    """
    from trimtab.importers.caffe_ops import network

    return network.load(*_pair(path), inputs)


def _pair(path: Path) -> tuple[Path, Path | None]:
    return text_and_weights(path, *SUFFIXES, _is_deployed)


def _is_deployed(path: Path) -> bool:
    """Whether a .prototxt can be the network of weights: not a solver, not for training."""
    return sniff(path) and "train" not in path.stem and "solver" not in path.stem
