"""Instruction sets: the rows of `kernels/isa.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.errors import SchemaError
from trimtab.toml_table import TomlFile

PORTABLE = "portable"


@dataclass(frozen=True)
class Isa:
    """One row of isa.toml: an instruction set, its compiler flags and the CPU features it needs.

    `vectors`: the header of its vector type in `folder`, by dtype; `lacks`: what these vectors
    cannot do. `f32_fmas_per_cycle`: the most multiply-adds per cycle with these vectors; 0: as
    many as the core can do. `sum_cost`: cost of an instruction of Strassen's matrix sums, in
    multiply-adds. `cores`: the cores that its kernels are scheduled for; empty: any. `slower`:
    families whose kernels have less code than those of higher rows -> their relative run time.
    `i8_rate`: families -> int8 multiply-adds in the time of one of float32. `tap_cost`: cost of a
    tap of an int8 row and panel, in multiply-adds. `lanes`: float32 elements of a vector.
    """

    name: str
    folder: str
    arch: tuple[str, ...]
    flags: tuple[str, ...]
    features: tuple[str, ...]
    rank: int
    f32_fmas_per_cycle: int = 0
    lanes: int = 4
    sum_cost: float = 1
    zig_flags: tuple[str, ...] = ()
    cores: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    vectors: Mapping[str, str] = field(default_factory=dict)
    slower: Mapping[str, float] = field(default_factory=dict)
    i8_rate: Mapping[str, float] = field(default_factory=dict)
    tap_cost: float = 0

    def flags_for(self, compiler: str) -> tuple[str, ...]:
        """The flags in the spelling of `compiler`: "zig", or any other for GCC's."""
        return self.zig_flags if compiler == "zig" and self.zig_flags else self.flags


def read_isas(path: Path) -> dict[str, Isa]:
    """The instruction sets of an isa.toml, lowest rank first; SchemaError names a malformed row."""
    file = TomlFile(path, SchemaError)
    isas = [file.record(Isa, row, key=name, name=name) for name, row in file.table.items()]
    return {isa.name: isa for isa in sorted(isas, key=lambda isa: isa.rank)}
