"""The inventory of micro-kernels: generated kernels and hand-written files in `kernels/`.

A kernel is one function called `<family>_<dtype>[_<tile>]_<isa>`, in a file of that name:

    extern "C" void gemm_f32_8x8_neon(const GemmArgs<float>& args)

The operator that calls a kernel determines its argument type. `<tile>` is `<mr>x<nr>` (rows and
columns of a call) or `<nr>` alone (a channel tile); a kernel without a tile reads no packed
weights, or, if it is portable, weights in any packing. `<isa>` is a row of `kernels/isa.toml`.

Kernels that differ only in their instruction set are generated from a family, which a header in
`kernels/generic/` declares. Other kernels, and faster versions of generated ones, are files
`kernels/<folder>/<name>.cpp`. There is no list to edit. Uses the standard library only, because
CMake reads the inventory at configure time.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from trimtab import paths, plugins
from trimtab.errors import SchemaError
from trimtab.kernels.families import read_families
from trimtab.kernels.isa import PORTABLE, Isa, read_isas
from trimtab.kernels.naming import Kernel, KernelTemplate, read_kernel

__all__ = [
    "PORTABLE",
    "Isa",
    "Kernel",
    "KernelTemplate",
    "instruments",
    "inventory",
    "isas",
    "kernel",
    "read_inventory",
]


def read_inventory(folder: Path, *others: Path) -> dict[str, Kernel]:
    """All kernels in `folder` and in `others` (of plug-ins), by name. Order: family, dtype, highest
    rank first, portable last.

    A file replaces the generated kernel of its name. SchemaError if a file breaks a rule, a family
    has no portable member for a dtype or is declared twice, or its members have different argument
    types.
    """
    isas = read_isas(folder / "isa.toml")
    generated: dict[str, Kernel] = {}
    headers: dict[str, Path] = {}
    for header in (h for f in (folder, *others) for h in sorted(f.glob("generic/*.h"))):
        if (other := headers.setdefault(header.name, header)) is not header:
            raise SchemaError(
                f"{other} has the same name, so that #include is ambiguous",
                where=str(header),
                hint="rename one of them",
            )
        for declared in read_families(header, folder):
            for kernel in declared.kernels(isas):
                if generated.setdefault(kernel.name, kernel) is not kernel:
                    raise SchemaError(
                        f"family {kernel.family} is declared twice",
                        where=str(header),
                        hint="rename one of them",
                    )
    written = [
        read_kernel(p, isas, folder) for f in (folder, *others) for p in sorted(f.glob("*/*.cpp"))
    ]
    merged = [*(generated | {kernel.name: kernel for kernel in written}).values()]
    merged.sort(key=lambda k: (k.family, k.dtype, -isas[k.isa].rank, -k.mr * k.nr, k.name))
    for family in sorted({k.typed_family for k in merged}):
        members = [k for k in merged if k.typed_family == family]
        if not members[-1].portable:
            raise SchemaError(
                f"kernel family {family} has no portable member",
                where=str(folder),
                hint=f"declare it in kernels/generic/, or write {family}_portable.cpp",
            )
        if len({k.args_type for k in members}) > 1:
            raise SchemaError(
                f"kernels of family {family} have different argument types",
                where=", ".join(str(k.path) for k in members),
            )
    return {kernel.name: kernel for kernel in merged}


@cache
def isas() -> dict[str, Isa]:
    """The instruction sets by name, lowest rank first."""
    return read_isas(paths.root() / "kernels" / "isa.toml")


@cache
def inventory() -> dict[str, Kernel]:
    """All kernels of this installation by name, in the order of `read_inventory`. If a kernel of a
    plug-in breaks a rule, all kernels of that plug-in are excluded.
    """
    folders = [paths.root() / "kernels"]
    kernels = read_inventory(*folders)
    for plugin in plugins.active():
        with plugins.isolated(plugin):
            if plugin.files("kernels"):
                kernels = read_inventory(*folders, plugin.folder / "kernels")
                folders.append(plugin.folder / "kernels")
    return kernels


def kernel(name: str) -> Kernel:
    """The kernel called `name`; SchemaError if there is none."""
    try:
        return inventory()[name]
    except KeyError:
        raise SchemaError(
            f"there is no kernel {name!r}",
            hint="declare its family in kernels/generic/, or add a file of its name",
        ) from None


def instruments(arch: str, called: set[str]) -> list[Kernel]:
    """The kernels for `arch` whose families are not `called` by operators: loops that measure the
    machine, which only the Python engine contains.
    """
    return [
        k for k in inventory().values() if k.family not in called and arch in isas()[k.isa].arch
    ]
