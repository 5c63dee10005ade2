"""ncnn networks: a .param (text) with its .bin.

`trimtab.importers.ncnn_ops` translates layers into operators. Layers and their parameters are those
of https://github.com/Tencent/ncnn/blob/master/docs/developer-guide/operators.md. Programs have a
batch, which ncnn lacks: a blob [c, h, w] is a tensor [1, c, h, w].
"""

from __future__ import annotations

from pathlib import Path

from trimtab.errors import ModelFileError
from trimtab.importers._files import existing, text_and_weights
from trimtab.importers._inputs import Shapes
from trimtab.importers._param_text import has_magic
from trimtab.program import Program

SUFFIXES = (".param", ".bin")


def sniff(path: Path) -> bool:
    """Whether the file is a text with ncnn's magic number and without operators of PNNX, or a
    folder with one such file.
    """
    return len(_texts(path)) == 1 if path.is_dir() else has_magic(path, pnnx=False)


def files(path: Path) -> list[Path]:
    """The .param and the .bin of the network."""
    return existing(*_pair(path))


def load(path: Path, inputs: Shapes) -> Program:
    """Translates the network at `path`, a file or a folder, or the one beside weights at `path`.

    Shapes in `inputs` have a batch of 1. See `trimtab.importers.Importer` for errors.
    """
    from trimtab.importers.ncnn_ops import network

    return network.load(*_pair(path), inputs)


def _texts(folder: Path) -> list[Path]:
    """The networks in a folder."""
    return [path for path in sorted(folder.glob("*.param")) if has_magic(path, pnnx=False)]


def _pair(path: Path) -> tuple[Path, Path | None]:
    if path.is_dir():
        texts = _texts(path)
        if len(texts) != 1:
            what = "has several programs in it" if texts else "has no program in it"
            raise ModelFileError(what, where=str(path), hint="give its .param file")
        (path,) = texts
    if path.name.endswith(".param.bin"):
        raise ModelFileError(
            "is the binary form of a network, which has no names",
            where=str(path),
            hint="give the text form, which ends with .param",
        )
    return text_and_weights(path, *SUFFIXES, sniff, _is_weights)


def _is_weights(path: Path) -> bool:
    return not path.name.endswith(".param.bin")
