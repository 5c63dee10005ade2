"""The ranges of a network's tensors, and the file in which they are kept.

    network = "mobilenet_v2"
    method = "mse"
    samples = 80

    [ranges]
    "input" = [-2.11, 2.64]
    "/features/0/relu" = [0.0, 5.93]

    [means]
    "input" = [0.12, -0.03, 0.2]

    [factors]
    "/features/0/relu" = [1.0, 2.4, 1.1]

Operators that read or give a tensor without a line in [ranges] stay in floating point: lines may be
changed, to what has 0 inside, and deleted.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trimtab import files
from trimtab.errors import CalibrationError
from trimtab.quantization.observer import MOST_REAL, Range

_HINT = (
    'it has network, method, samples, and in [ranges] "TENSOR" = [LEAST, MOST]; delete the file, '
    "and it is made again"
)
_RANGE_HINT = (
    "write [LEAST, MOST] in float32 with 0 inside, which padding and zero points need; or delete "
    "the line, and what reads or gives the tensor stays in floating point"
)


@dataclass(frozen=True)
class Ranges:
    """Ranges by tensor of the simplified program, and where they come from; `means`: of each
    channel of tensors that operators with weights read. Both are of the program whose channels are
    multiplied with `factors` (`equalize`). `path`: the file that they were read from, if any.
    """

    network: str
    method: str
    samples: int
    ranges: Mapping[str, Range]
    means: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    factors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    path: str = field(default="", compare=False)

    def write(self, path: Path) -> None:
        """Writes the file, a tensor to a line."""
        ends = {name: (r.least, r.most) for name, r in self.ranges.items()}
        lines = [
            f"network = {_quoted(self.network)}",
            f"method = {_quoted(self.method)}",
            f"samples = {self.samples}",
            *_section("ranges", ends),
            *_section("means", self.means),
            *_section("factors", self.factors),
        ]
        files.write_text(path, "\n".join(lines) + "\n")

    def misfit(self, what: str) -> CalibrationError:
        """The error that says `what` of them does not fit the network."""
        if not self.path:
            return CalibrationError(what, where=self.network, hint="calibrate this network")
        return CalibrationError(
            what,
            where=self.path,
            hint=f"delete or rename {self.path}, and it is made again for this network; or name "
            "another file with --ranges",
        )

    @staticmethod
    def read(path: Path) -> Ranges:
        """Reads the file; CalibrationError names what is wrong in it."""
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise CalibrationError(
                f"cannot be read: {error}", where=str(path), hint=_HINT
            ) from error
        kinds = {"network": str, "method": str, "samples": int, "ranges": dict, "means": dict}
        kinds["factors"] = dict
        wrong = [key for key, kind in kinds.items() if not isinstance(table.get(key), kind)]
        wrong += sorted(set(table) - set(kinds))
        if wrong:
            raise CalibrationError(
                f"missing, unknown or of a wrong type: {', '.join(wrong)}",
                where=str(path),
                hint=_HINT,
            )
        if isinstance(table["samples"], bool) or table["samples"] < 1:
            raise CalibrationError(
                f"samples is {table['samples']}: of so many the ranges are, 1 or more",
                where=str(path),
                hint=_HINT,
            )
        found = {name: _range(name, value, path) for name, value in table["ranges"].items()}
        means = {name: _means(name, value, path) for name, value in table["means"].items()}
        factors = {name: _factors(name, value, path) for name, value in table["factors"].items()}
        of = (table["network"], table["method"], table["samples"])
        return Ranges(*of, found, means, factors, str(path))


def _quoted(text: str) -> str:
    """As a string or a key of TOML, on one line: JSON's escapes are TOML's, too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _section(title: str, rows: Mapping[str, Iterable[float]]) -> list[str]:
    """The lines of a table, a key to a line: then one can be deleted, as it may be."""
    lines = [
        f"{_quoted(name)} = [{', '.join(repr(float(n)) for n in row)}]"
        for name, row in rows.items()
    ]
    return ["", f"[{title}]", *lines]


def _numbers(value: object) -> tuple[float, ...]:
    """A list of numbers that float32 holds; empty when it is none."""
    numbers = value if isinstance(value, list) else []
    is_real = all(
        isinstance(n, int | float) and not isinstance(n, bool) and abs(n) <= MOST_REAL
        for n in numbers
    )
    return tuple(map(float, numbers)) if is_real else ()


def _means(name: str, value: object, path: Path) -> tuple[float, ...]:
    means = _numbers(value)
    if not means:
        raise CalibrationError(f"the means of '{name}' are {value!r}", where=str(path), hint=_HINT)
    return means


def _factors(name: str, value: object, path: Path) -> tuple[float, ...]:
    factors = _numbers(value)
    if not factors or min(factors) <= 0:
        raise CalibrationError(
            f"the factors of '{name}' are {value!r}", where=str(path), hint=_HINT
        )
    return factors


def _range(name: str, value: object, path: Path) -> Range:
    numbers = _numbers(value)
    why = ""
    if len(numbers) != 2:
        why = "it is no pair of numbers that float32 holds"
    elif not numbers[0] <= 0 <= numbers[1]:
        why = "0 is not inside"
    elif not Range(*numbers).has_steps:
        why = "it has no room for the steps of integers"
    if why:
        raise CalibrationError(
            f"the range of '{name}' is {value!r}: {why}", where=str(path), hint=_RANGE_HINT
        )
    return Range(*numbers)
