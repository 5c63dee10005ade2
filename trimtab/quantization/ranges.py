"""The ranges of a network's tensors, and the TOML file that stores them.

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

Users may edit ranges, which must contain 0, and delete lines of [ranges]: an operator stays in
float32 if a tensor that it reads or computes has no range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from trimtab import files, strict_json
from trimtab.errors import CalibrationError
from trimtab.quantization.observer import FLOAT32_MAX, Range
from trimtab.toml_table import Minimum, TomlFile

_HINT = (
    'a file of ranges has network, method, samples, [ranges] with "TENSOR" = [MIN, MAX], [means] '
    "and [factors]; delete the file to calibrate again"
)
_RANGE_HINT = (
    "write [MIN, MAX] in float32 with MIN <= 0 <= MAX; or delete the line to keep the operators "
    "around the tensor in float32"
)


@dataclass(frozen=True)
class _RangesFile:
    """The keys of the file."""

    network: str
    method: str
    samples: Annotated[int, Minimum(1)]
    ranges: Mapping[str, Any]
    means: Mapping[str, Any]
    factors: Mapping[str, Any]


@dataclass(frozen=True)
class Ranges:
    """Ranges by tensor of a simplified program, and their origin.

    `means`: the mean of each channel of the tensors that operators with weights read. Ranges and
    means are those of the program equalized by `factors`. `path`: the file they were read from.
    """

    network: str
    method: str
    samples: int
    ranges: Mapping[str, Range]
    means: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    factors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    path: str = field(default="", compare=False)

    def write(self, path: Path) -> None:
        """Writes the file, one line per tensor."""
        ends = {name: (r.low, r.high) for name, r in self.ranges.items()}
        lines = [
            f"network = {_quoted(self.network)}",
            f"method = {_quoted(self.method)}",
            f"samples = {self.samples}",
            *_section("ranges", ends),
            *_section("means", self.means),
            *_section("factors", self.factors),
        ]
        files.write_text(path, "\n".join(lines) + "\n")

    def misfit(self, problem: str) -> CalibrationError:
        """The error for ranges that do not fit the network."""
        if not self.path:
            return CalibrationError(problem, where=self.network, hint="calibrate this network")
        return CalibrationError(
            problem,
            where=self.path,
            hint=f"delete or rename {self.path} to calibrate this network; or name another file "
            "with --ranges",
        )

    @staticmethod
    def read(path: Path) -> Ranges:
        """Reads the file; CalibrationError names the problem."""
        file = TomlFile(path, CalibrationError, hint=_HINT).record(_RangesFile)
        return Ranges(
            file.network,
            file.method,
            file.samples,
            {name: _range(name, value, path) for name, value in file.ranges.items()},
            {name: _means(name, value, path) for name, value in file.means.items()},
            {name: _factors(name, value, path) for name, value in file.factors.items()},
            str(path),
        )


def _quoted(text: str) -> str:
    """A TOML string on one line; JSON has the same escapes."""
    return strict_json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _section(title: str, rows: Mapping[str, Iterable[float]]) -> list[str]:
    """The lines of a TOML table, one per key, so that a user can delete one."""
    lines = [
        f"{_quoted(name)} = [{', '.join(repr(float(n)) for n in row)}]"
        for name, row in rows.items()
    ]
    return ["", f"[{title}]", *lines]


def _numbers(value: object) -> tuple[float, ...]:
    """A list of float32 numbers; () if `value` is not one."""
    numbers = value if isinstance(value, list) else []
    are_valid = all(
        isinstance(n, int | float) and not isinstance(n, bool) and abs(n) <= FLOAT32_MAX
        for n in numbers
    )
    return tuple(map(float, numbers)) if are_valid else ()


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
    problem = ""
    if len(numbers) != 2:
        problem = "it must be two float32 numbers"
    elif not numbers[0] <= 0 <= numbers[1]:
        problem = "it must contain 0"
    elif not Range(*numbers).has_scale:
        problem = "it is too narrow for a float32 scale"
    if problem:
        raise CalibrationError(
            f"the range of '{name}' is {value!r}: {problem}", where=str(path), hint=_RANGE_HINT
        )
    return Range(*numbers)
