"""The inventory of micro-kernels: what lies in `kernels/`, by file names and `kernels/isa.toml`.

A kernel is one file `kernels/<folder>/<family>[_<tile>]_<isa>.cpp` that defines one function of
the file's name:

    extern "C" void gemm_f32_8x8_neon(const GemmF32Args& args)

`<family>` is `<op>_<dtype>`. `<tile>` is `<mr>x<nr>` (rows and columns that the kernel computes at
once) or `<nr>` alone (a channel tile); without one the kernel reads no packed weights, or, in a
portable kernel, any packing. There is no list to edit: a new kernel is found by its name. Uses the
standard library only, since CMake asks it at configure time.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from trimtab import paths
from trimtab.errors import SchemaError

MAX_TILE_ROWS = 32  # kernel_api.h kMaxTileRows
MAX_TILE_COLUMNS = 64  # kernel_api.h kMaxTileColumns
PORTABLE = "portable"

# The packing of a program that is planned for a portable kernel, which understands any: that of
# the small ARM kernels, so that they can stand in.
_PORTABLE_PACKING = {"GemmF32Args": (4, 8), "DepthwiseF32Args": (0, 8)}

_NAME = re.compile(
    r"(?P<family>[a-z][a-z0-9]*(?:_[a-z0-9]+)*_(?:f32|f16|i8|u8|i32|i64))"
    r"(?:_(?:(?P<mr>[1-9]\d*)x)?(?P<nr>[1-9]\d*))?"
    r"_(?P<isa>[a-z][a-z0-9]*)"
)


@dataclass(frozen=True)
class Isa:
    """One row of isa.toml: an instruction set, its compiler flags and the CPU features it needs.

    `weight_cost`: multiply-adds, of one lane, that take as long as reading a weight from memory.
    `sum_cost`: multiply-adds that take as long as an instruction of Strassen's sums.
    `cores`: those of `cores/` that its kernels are scheduled for; none: any core.
    """

    name: str
    folder: str
    arch: tuple[str, ...]
    flags: tuple[str, ...]
    features: tuple[str, ...]
    rank: int
    weight_cost: int = 4
    sum_cost: float = 1
    zig_flags: tuple[str, ...] = ()
    cores: tuple[str, ...] = ()

    def flags_for(self, compiler: str) -> tuple[str, ...]:
        """The flags as `compiler` ("zig", or any other for GCC's spelling) wants them."""
        return self.zig_flags if compiler == "zig" and self.zig_flags else self.flags


@dataclass(frozen=True)
class Kernel:
    """One micro-kernel. `mr`, `nr`: its tile, 0 where it has none; `path`: below `paths.root()`."""

    name: str
    family: str
    isa: str
    mr: int
    nr: int
    path: Path
    args_type: str

    @property
    def dtype(self) -> str:
        """Element type the kernel computes in: the last word of its family."""
        return self.family.rpartition("_")[2]

    @property
    def portable(self) -> bool:
        """True for the family's reference, which runs anywhere and understands every packing."""
        return self.isa == PORTABLE

    @property
    def packing(self) -> tuple[int, int]:
        """(mr, nr) that weights are packed for; (0, 0) where the kernel reads none."""
        return (
            _PORTABLE_PACKING.get(self.args_type, (0, 0)) if self.portable else (self.mr, self.nr)
        )


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
            row |= {key: tuple(row.get(key, ())) for key in ("zig_flags", "cores")}
            found.append(Isa(name=name, **row))
        except (AttributeError, KeyError, TypeError) as e:
            raise SchemaError(
                f"instruction set {name}: bad or missing key: {e}",
                where=str(path),
                hint="a row has folder, arch, flags, features and rank",
            ) from None
    return {isa.name: isa for isa in sorted(found, key=lambda isa: isa.rank)}


def read_kernel(path: Path, isas: dict[str, Isa]) -> Kernel:
    """The kernel in one file; SchemaError when its name, folder or function breaks the rules."""
    where, name = str(path), path.stem
    match = _NAME.fullmatch(name)
    if match is None:
        raise SchemaError(
            "a kernel's file name must be <op>_<dtype>[_<tile>]_<isa>.cpp",
            where=where,
            hint="for example gemm_f32_8x8_neon.cpp, sigmoid_f32_avx2.cpp",
        )
    isa = isas.get(match["isa"])
    if isa is None:
        raise SchemaError(
            f"unknown instruction set {match['isa']!r}",
            where=where,
            hint=f"use one of {', '.join(isas)}, or add a row to kernels/isa.toml",
        )
    if isa.folder != path.parent.name:
        raise SchemaError(f"kernels for {isa.name} belong in kernels/{isa.folder}/", where=where)
    mr, nr = int(match["mr"] or 0), int(match["nr"] or 0)
    if mr > MAX_TILE_ROWS or nr > MAX_TILE_COLUMNS:
        raise SchemaError(
            f"tile {mr}x{nr} is larger than {MAX_TILE_ROWS}x{MAX_TILE_COLUMNS}", where=where
        )
    if isa.name == PORTABLE and nr != 0:
        raise SchemaError(
            "a portable kernel has no tile: it must understand every packing", where=where
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise SchemaError(str(e), where=where) from None
    signature = re.search(rf"\bvoid\s+{name}\s*\(\s*const\s+(\w+)\s*&", text)
    if signature is None:
        raise SchemaError(
            f'must define extern "C" void {name}(const ...Args& args)',
            where=where,
            hint="the function has the name of its file; kernel_api.h holds the argument types",
        )
    return Kernel(
        name=name,
        family=match["family"],
        isa=isa.name,
        mr=mr,
        nr=nr,
        path=Path("kernels", isa.folder, path.name),
        args_type=signature[1],
    )


def read_inventory(folder: Path) -> dict[str, Kernel]:
    """All kernels below `folder` by name: families by alphabet, highest rank first, portable last.

    SchemaError when a file breaks a rule, a family has no portable member, or its members disagree
    on their arguments.
    """
    isas = read_isas(folder / "isa.toml")
    found = [read_kernel(p, isas) for p in sorted(folder.glob("*/*.cpp"))]
    found.sort(key=lambda k: (k.family, -isas[k.isa].rank, -k.mr * k.nr, k.name))
    for family in sorted({k.family for k in found}):
        members = [k for k in found if k.family == family]
        if not members[-1].portable:
            raise SchemaError(
                f"kernel family {family} has no portable member",
                where=str(folder),
                hint=f"add kernels/portable/{family}_portable.cpp",
            )
        if len({k.args_type for k in members}) > 1:
            raise SchemaError(
                f"kernels of family {family} take different arguments",
                where=", ".join(str(k.path) for k in members),
            )
    return {kernel.name: kernel for kernel in found}


@cache
def isas() -> dict[str, Isa]:
    """The instruction sets by name, lowest rank first."""
    return read_isas(paths.root() / "kernels" / "isa.toml")


@cache
def inventory() -> dict[str, Kernel]:
    """All kernels of this installation by name, in the order of `read_inventory`."""
    return read_inventory(paths.root() / "kernels")


def kernel(name: str) -> Kernel:
    """The kernel of that name; SchemaError when there is none."""
    try:
        return inventory()[name]
    except KeyError:
        raise SchemaError(
            f"there is no kernel {name!r}",
            hint="kernels/ holds one file per kernel, of the same name",
        ) from None


def instruments(arch: str, called: set[str]) -> list[Kernel]:
    """The kernels for `arch` of families that are not among those `called` by operators: loops
    that measure the machine, which only the Python engine holds.
    """
    return [
        k for k in inventory().values() if k.family not in called and arch in isas()[k.isa].arch
    ]
