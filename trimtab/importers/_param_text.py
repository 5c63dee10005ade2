"""What the texts of ncnn and PNNX share: a magic number, counts, then one layer per line.

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
    """Whether a file begins with the magic number, and has an operator of PNNX or has not."""
    start = head(path, 2**10)
    return start.split(b"\n")[0].strip() == MAGIC.encode() and (b"pnnx." in start) == pnnx


@dataclass(frozen=True)
class Dialect:
    """What messages call a format, its layers, what these exchange, and how its files end.

    `exact`: no line may follow the last announced layer, else it is no part of the network.
    """

    network: str
    layers: str
    values: str
    suffix: str
    exact: bool


@dataclass(frozen=True)
class Row:
    """The line of a layer; `rest` is what follows the names of its values."""

    number: int
    type: str
    name: str
    inputs: list[str]
    outputs: list[str]
    rest: str


def rows(text: str, path: str, dialect: Dialect) -> Iterator[Row]:
    """The line of every layer; ModelFileError names the line that is none."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != MAGIC:
        raise ModelFileError(
            f"is not {dialect.network}: its first line is not {MAGIC}",
            where=path,
            hint=f"give the text form of the network, which ends with {dialect.suffix}",
        )
    found = [(i, line) for i, line in enumerate(lines[1:], 2) if line.strip()]
    counts = found[0][1].split() if found else []
    if len(counts) != 2 or not all(count.isdecimal() for count in counts):
        what = f"the numbers of {dialect.layers} and {dialect.values} are missing"
        raise _damaged(path, 2, what)
    announced, layers = int(counts[0]), found[1:]
    if len(layers) < announced or (dialect.exact and len(layers) > announced):
        what = f"{announced} {dialect.layers} are announced, {len(layers)} follow"
        raise _damaged(path, 2, what)
    for number, line in layers[:announced]:
        yield _row(line, number, path, dialect.values)


def _row(line: str, number: int, path: str, values: str) -> Row:
    words = line.split(maxsplit=4)
    if len(words) < 4 or not (words[2].isdecimal() and words[3].isdecimal()):
        raise _damaged(path, number, f"expected a type, a name, and the numbers of its {values}")
    inputs, count = int(words[2]), int(words[2]) + int(words[3])
    # No layer has more values than its line has letters.
    if count > len(line):
        raise _damaged(path, number, f"{count} {values} are announced")
    named = (words[4] if len(words) > 4 else "").split(maxsplit=count)
    if len(named) < count:
        raise _damaged(path, number, f"{count} {values} are announced, {len(named)} are named")
    return Row(
        number, words[0], words[1], named[:inputs], named[inputs:count], "".join(named[count:])
    )


def _damaged(path: str, line: int, what: str) -> ModelFileError:
    return ModelFileError(what, where=f"{path}:{line}", hint="copy or convert the network again")
