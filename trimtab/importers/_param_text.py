"""The text format that ncnn and PNNX share: a magic number, counts, then one layer per line.

Format: ncnn, docs/developer-guide/param-and-model-file-structure.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trimtab.errors import ModelFileError
from trimtab.importers._files import head

MAGIC = "7767517"


def has_magic(path: Path, *, pnnx: bool) -> bool:
    """Whether a file has the magic number, and whether it is of PNNX rather than ncnn."""
    start = head(path, 2**10)
    return start.split(b"\n")[0].strip() == MAGIC.encode() and (b"pnnx." in start) == pnnx


@dataclass(frozen=True)
class Dialect:
    """The terms of a format for messages: a network, its layers, their values and the suffix.

    `exact`: whether lines after the last announced layer are errors; otherwise they are ignored.
    """

    network: str
    layers: str
    values: str
    suffix: str
    exact: bool


@dataclass(frozen=True)
class ParamLine:
    """The line of a layer; `arguments` is the text after the names of its values."""

    number: int
    type: str
    name: str
    inputs: list[str]
    outputs: list[str]
    arguments: str


def rows(text: str, path: str, dialect: Dialect) -> Iterator[ParamLine]:
    """The line of every layer; ModelFileError gives the number of a malformed line."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != MAGIC:
        raise ModelFileError(
            f"is not {dialect.network}: its first line is not {MAGIC}",
            where=path,
            hint=f"give the text form of the network, which ends with {dialect.suffix}",
        )
    numbered = [(i, line) for i, line in enumerate(lines[1:], 2) if line.strip()]
    counts = numbered[0][1].split() if numbered else []
    if len(counts) != 2 or not all(count.isdecimal() for count in counts):
        what = f"the numbers of {dialect.layers} and {dialect.values} are missing"
        raise _damaged(path, 2, what)
    announced, layers = int(counts[0]), numbered[1:]
    if len(layers) < announced or (dialect.exact and len(layers) > announced):
        what = f"{announced} {dialect.layers} are announced, {len(layers)} follow"
        raise _damaged(path, 2, what)
    for number, line in layers[:announced]:
        yield _row(line, number, path, dialect.values)


def _row(line: str, number: int, path: str, values: str) -> ParamLine:
    words = line.split(maxsplit=4)
    if len(words) < 4 or not (words[2].isdecimal() and words[3].isdecimal()):
        raise _damaged(path, number, f"expected a type, a name, and the numbers of its {values}")
    inputs, count = int(words[2]), int(words[2]) + int(words[3])
    # A line cannot name more values than it has characters.
    if count > len(line):
        raise _damaged(path, number, f"{count} {values} are announced")
    names = (words[4] if len(words) > 4 else "").split(maxsplit=count)
    if len(names) < count:
        raise _damaged(path, number, f"{count} {values} are announced, {len(names)} are named")
    return ParamLine(
        number, words[0], words[1], names[:inputs], names[inputs:count], "".join(names[count:])
    )


def _damaged(path: str, line: int, what: str) -> ModelFileError:
    return ModelFileError(what, where=f"{path}:{line}", hint="copy or convert the network again")
