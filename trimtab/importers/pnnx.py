"""PNNX networks: a .pnnx.param (text) with its .pnnx.bin (a zip archive of weights).

`trimtab.importers.pnnx_ops` translates operators, which are those of PyTorch. Format:
https://github.com/Tencent/ncnn/blob/master/tools/pnnx/README.md.
"""

from __future__ import annotations

from pathlib import Path

from trimtab.importers._files import existing, text_and_weights
from trimtab.importers._inputs import Shapes
from trimtab.importers._param_text import has_magic
from trimtab.program import Program

SUFFIXES = (".pnnx.param", ".pnnx.bin")


def sniff(path: Path) -> bool:
    """Whether the file is a text with ncnn's magic number and operators of PNNX."""
    return has_magic(path, pnnx=True)


def files(path: Path) -> list[Path]:
    """The .pnnx.param and the .pnnx.bin of the network."""
    return existing(*_pair(path))


def load(path: Path, inputs: Shapes) -> Program:
    """Translates the network at `path`, or the one beside the weights at `path`.

    Inputs and outputs have the names of their operators. See `trimtab.importers.Importer` for
    errors.
    """
    from trimtab.importers.pnnx_ops import network

    return network.load(*_pair(path), inputs)


def _pair(path: Path) -> tuple[Path, Path | None]:
    return text_and_weights(path, ".param", ".bin", sniff, _is_archive)


def _is_archive(path: Path) -> bool:
    return path.name.endswith(".pnnx.bin")
