"""The instruction sets of `kernels/isa.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab.errors import SchemaError

PORTABLE = "portable"


@dataclass(frozen=True)
class Isa:
    """One row of isa.toml: an instruction set, its compiler flags and the CPU features it needs.

    `vectors`: the header of its vectors by their element type, in `folder`; `lacks`: what these
    cannot do. `sum_cost`: multiply-adds that take as long as an instruction of Strassen's sums.
    `cores`: those of `cores/` that its kernels are scheduled for; none: any core. `slower`: the
    families whose kernels have less code than in higher rows -> how many times as long they take.
    `i8_rate`: families -> multiply-adds of int8 in the time of one of float32. `tap_cost`:
    multiply-adds that take as long as a tap of a row and a panel of int8.
    """

    name: str
    folder: str
    arch: tuple[str, ...]
    flags: tuple[str, ...]
    features: tuple[str, ...]
    rank: int
    sum_cost: float = 1
    zig_flags: tuple[str, ...] = ()
    cores: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    vectors: Mapping[str, str] = field(default_factory=dict)
    slower: Mapping[str, float] = field(default_factory=dict)
    i8_rate: Mapping[str, float] = field(default_factory=dict)
    tap_cost: float = 0

    def flags_for(self, compiler: str) -> tuple[str, ...]:
        """The flags as `compiler` ("zig", or any other for GCC's spelling) wants them."""
        return self.zig_flags if compiler == "zig" and self.zig_flags else self.flags


def read_isas(path: Path) -> dict[str, Isa]:
    """The instruction sets of one isa.toml, lowest rank first; SchemaError names a wrong row."""
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise SchemaError(str(e), where=str(path)) from None
    found = []
    for name, row in table.items():
        try:
            row |= {key: tuple(row[key]) for key in ("arch", "flags", "features")}
            row |= {key: tuple(row.get(key, ())) for key in ("zig_flags", "cores", "lacks")}
            found.append(Isa(name=name, **row))
        except (AttributeError, KeyError, TypeError) as e:
            raise SchemaError(
                f"instruction set {name}: bad or missing key: {e}",
                where=str(path),
                hint="a row has folder, arch, flags, features and rank",
            ) from None
    return {isa.name: isa for isa in sorted(found, key=lambda isa: isa.rank)}
