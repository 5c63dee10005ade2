"""Caffe networks: a .prototxt (text) with its .caffemodel (weights).

Layers and parameters are those of caffe.proto, V1 and current, with the additions of the SSD fork;
`trimtab.importers.caffe_ops` turns layers into operators. Layer catalog:
https://caffe.berkeleyvision.org/tutorial/layers.html.
"""

from __future__ import annotations

from pathlib import Path

from trimtab.importers._files import head, text_and_weights
from trimtab.importers._inputs import Shapes
from trimtab.program import Program

SUFFIXES = (".prototxt", ".caffemodel")


def sniff(path: Path) -> bool:
    """Text with a layer in it. Weights alone say nothing that other formats do not."""
    text = head(path, 2**16).decode("ascii", errors="replace")
    return any(
        line.split("#")[0].replace(":", "").replace(" ", "").startswith(("layer{", "layers{"))
        for line in text.splitlines()
    )


def load(path: Path, inputs: Shapes) -> Program:
    """The program of the network at `path`, or of the one beside the weights at `path`.

    Without a .caffemodel a network without weights is a program, too. Given shapes replace those
    that the network declares. Errors as `trimtab.importers.Importer` lists them.
    """
    from trimtab.importers.caffe_ops import network

    return network.load(*text_and_weights(path, *SUFFIXES, _is_deployed), inputs)


def _is_deployed(path: Path) -> bool:
    """Whether a .prototxt beside weights can be their network: not a solver, not for training."""
    return sniff(path) and "train" not in path.stem and "solver" not in path.stem
