"""The `Kernel` dataclass, and the grammar of kernel names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trimtab import plugins, schema
from trimtab.errors import SchemaError
from trimtab.kernels.isa import PORTABLE, Isa

MAX_TILE_ROWS = 32  # kernel_api.h kMaxTileRows
MAX_TILE_COLUMNS = 64  # kernel_api.h kMaxTileColumns

# The C++ type of an element.
ELEMENTS = {
    "f32": "float",
    "f16": "Half",
    "i8": "int8_t",
    "u8": "uint8_t",
    "i32": "int32_t",
    "i64": "int64_t",
}

# The packing for portable kernels, which support any: that of the small ARM kernels, so that these
# can run the same program.
_PORTABLE_PACKING = {"gemm": (4, 8), "depthwise": (0, 8)}
_PORTABLE_PACKING_I8 = {
    **dict.fromkeys(("gemm", "paired_gemm", "winograd_product"), (4, 16)),
    "depthwise": (0, 16),
}
_PORTABLE_DEPTH_STEP_I8 = 4

_NAME = re.compile(
    rf"(?P<family>[a-z][a-z0-9]*(?:_[a-z0-9]+)*)_(?P<dtype>{'|'.join(schema.DTYPES)})"
    r"(?:_(?:(?P<mr>[1-9]\d*)x)?(?P<nr>[1-9]\d*)(?:c(?P<kr>[1-9]\d*))?)?"
    r"_(?P<isa>[a-z][a-z0-9]*)"
)


@dataclass(frozen=True)
class KernelTemplate:
    """The parts of a generated kernel: the paths of its vector header and its family header, and
    the function that it calls, such as `Depthwise<8>`.
    """

    vectors: str
    header: str
    function: str


@dataclass(frozen=True)
class Kernel:
    """One micro-kernel.

    `mr`, `nr`: its tile, 0 if it has none; `kr`: depth elements that are adjacent in its packed
    weights. `args_type`: the template of its arguments, such as `GemmArgs`. `path`: its file,
    relative to `paths.root()`, absolute for a plug-in, or relative to the build folder for a
    generated kernel, which has a `template`. `source`: the hand-written file, which is the kernel
    itself or the header of its family.
    """

    name: str
    family: str
    dtype: str
    isa: str
    mr: int
    nr: int
    path: Path
    args_type: str
    template: KernelTemplate | None = None
    kr: int = 1
    source: Path = Path()

    def is_of(self, plugin: plugins.Plugin) -> bool:
        """Whether the kernel or its family belongs to a plug-in."""
        return self.source.is_relative_to(plugin.folder)

    @property
    def typed_family(self) -> str:
        """Family and dtype, such as `gemm_f32`: its kernels are interchangeable."""
        return f"{self.family}_{self.dtype}"

    @property
    def args(self) -> str:
        """The C++ type of its arguments, such as `GemmArgs<float>`."""
        return f"{self.args_type}<{ELEMENTS[self.dtype]}>"

    @property
    def portable(self) -> bool:
        """True for the reference kernel of a family, which runs anywhere and supports every
        packing.
        """
        return self.isa == PORTABLE

    @property
    def packing(self) -> tuple[int, int]:
        """The tile (mr, nr) that weights are packed for; (0, 0) if the kernel reads no weights."""
        portable = _PORTABLE_PACKING_I8 if self.dtype == "i8" else _PORTABLE_PACKING
        return portable.get(self.family, (0, 0)) if self.portable else (self.mr, self.nr)

    @property
    def depth_step(self) -> int:
        """Depth elements that are adjacent in its packed weights."""
        return _PORTABLE_DEPTH_STEP_I8 if self.portable and self.dtype == "i8" else self.kr


def named(
    name: str,
    isas: Mapping[str, Isa],
    path: Path,
    args_type: str,
    source: Path,
    template: KernelTemplate | None = None,
) -> Kernel:
    """The kernel called `name`; SchemaError at `source` if the name breaks the grammar."""
    where = str(source)
    match = _NAME.fullmatch(name)
    if match is None:
        raise SchemaError(
            f"a kernel's name must be <op>_<dtype>[_<tile>]_<isa>, not {name}",
            where=where,
            hint="for example gemm_f32_8x8_neon, sigmoid_f32_avx2",
        )
    if match["isa"] not in isas:
        raise SchemaError(
            f"unknown instruction set {match['isa']!r}",
            where=where,
            hint=f"use one of {', '.join(isas)}, or add a row to kernels/isa.toml",
        )
    mr, nr = int(match["mr"] or 0), int(match["nr"] or 0)
    if mr > MAX_TILE_ROWS or nr > MAX_TILE_COLUMNS:
        raise SchemaError(
            f"tile {mr}x{nr} is larger than {MAX_TILE_ROWS}x{MAX_TILE_COLUMNS}", where=where
        )
    if match["isa"] == PORTABLE and nr != 0:
        raise SchemaError(
            "a portable kernel has no tile: it must support every packing", where=where
        )
    if match["dtype"] not in ELEMENTS:
        raise SchemaError(
            f"the C++ type of dtype {match['dtype']} is not defined",
            where=where,
            hint="add it to ELEMENTS of trimtab/kernels/naming.py",
        )
    return Kernel(
        *(name, match["family"], match["dtype"], match["isa"], mr, nr, path, args_type, template),
        kr=int(match["kr"] or 1),
        source=source,
    )


def read_kernel(path: Path, isas: Mapping[str, Isa], root: Path) -> Kernel:
    """The kernel in one file, in `root` or in a plug-in; SchemaError if its name, folder or
    function breaks the rules.
    """
    where, name = str(path), path.stem
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise SchemaError(str(e), where=where) from None
    signature = re.search(rf"\bvoid\s+{name}\s*\(\s*const\s+(\w+)<(\w+)>\s*&", text)
    if signature is None:
        raise SchemaError(
            f'must define extern "C" void {name}(const ...Args<...>& args)',
            where=where,
            hint="the function has the name of its file; kernel_api.h declares the argument types",
        )
    folder = path.parent.name
    own = path.is_relative_to(root)
    place = Path("kernels", folder, path.name) if own else path
    kernel = named(name, isas, place, signature[1], path)
    if isas[kernel.isa].folder != folder:
        raise SchemaError(
            f"kernels for {kernel.isa} belong in kernels/{isas[kernel.isa].folder}/", where=where
        )
    if kernel.args != f"{signature[1]}<{signature[2]}>":
        raise SchemaError(
            f"a kernel of {kernel.dtype} takes {kernel.args}, not {signature[1]}<{signature[2]}>",
            where=where,
        )
    return kernel
