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

Operators that read or give a tensor without a line stay in floating point: lines may be changed,
and deleted.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import tomli_w

from trimtab import files
from trimtab.errors import CalibrationError
from trimtab.quantise.seen import Range

_HINT = 'it has network, method, samples, and in [ranges] "TENSOR" = [LEAST, MOST]; make it again'


@dataclass(frozen=True)
class Ranges:
    """Ranges by tensor of the simplified program, and where they come from; `means`: of each
    channel of tensors that operators with weights read. Both are of the program whose channels are
    multiplied with `factors` (`equalise`).
    """

    network: str
    method: str
    samples: int
    ranges: Mapping[str, Range]
    means: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    factors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Writes the file."""
        table = {name: [r.least, r.most] for name, r in self.ranges.items()}
        text = tomli_w.dumps(
            {
                "network": self.network,
                "method": self.method,
                "samples": self.samples,
                "ranges": table,
                "means": {name: list(means) for name, means in self.means.items()},
                "factors": {name: list(by) for name, by in self.factors.items()},
            }
        )
        files.write_text(path, text)

    @staticmethod
    def read(path: Path) -> Ranges:
        """Reads the file; CalibrationError names what is wrong in it."""
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise CalibrationError(f"cannot be read: {error}", where=str(path)) from error
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
        found = {name: _range(name, value, path) for name, value in table["ranges"].items()}
        means = {name: _means(name, value, path) for name, value in table["means"].items()}
        factors = {name: _factors(name, value, path) for name, value in table["factors"].items()}
        return Ranges(table["network"], table["method"], table["samples"], found, means, factors)


def _numbers(value: object) -> tuple[float, ...]:
    """A list of finite numbers; empty when it is none."""
    numbers = value if isinstance(value, list) else []
    is_real = all(
        isinstance(n, int | float) and not isinstance(n, bool) and math.isfinite(n) for n in numbers
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
    if len(numbers) != 2 or numbers[0] > numbers[1]:
        raise CalibrationError(f"the range of '{name}' is {value!r}", where=str(path), hint=_HINT)
    return Range(*numbers)
