"""The inventory of micro-kernels: those that `kernels/` declares, and those that it holds.

A kernel is one function of the name `<family>_<dtype>[_<tile>]_<isa>`, in a file of that name:

    extern "C" void gemm_f32_8x8_neon(const GemmArgs<float>& args)

The operator that calls a kernel decides of which type it is. `<tile>` is `<mr>x<nr>` (rows and
columns that the kernel computes at once) or `<nr>` alone (a channel tile); without one the kernel
reads no packed weights, or, in a portable kernel, any packing. `<isa>` is a row of
`kernels/isa.toml`.

Kernels that differ by their instruction set alone are generated of a family that a header of
`kernels/generic/` declares; the others, and those that are better than a generated one, are files
`kernels/<folder>/<name>.cpp`. There is no list to edit. Uses the standard library only, since CMake
asks it at configure time.
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
    """All kernels below `folder`, and below `others` (of plug-ins), by name: families by alphabet,
    their types too, highest rank first, portable last.

    A file takes the place of the generated kernel of its name. SchemaError when a file breaks a
    rule, a family has no portable member of a type or is declared twice, or its members disagree on
    their arguments.
    """
    isas = read_isas(folder / "isa.toml")
    made: dict[str, Kernel] = {}
    headers: dict[str, Path] = {}
    for header in (h for f in (folder, *others) for h in sorted(f.glob("generic/*.h"))):
        if (other := headers.setdefault(header.name, header)) is not header:
            raise SchemaError(
                f"there is {other}, which #include finds under the same name",
                where=str(header),
                hint="call one of them otherwise",
            )
        for declared in read_families(header, folder):
            for kernel in declared.kernels(isas):
                if made.setdefault(kernel.name, kernel) is not kernel:
                    raise SchemaError(
                        f"family {kernel.family} is declared twice", where=str(header)
                    )
    written = [
        read_kernel(p, isas, folder) for f in (folder, *others) for p in sorted(f.glob("*/*.cpp"))
    ]
    found = [*(made | {kernel.name: kernel for kernel in written}).values()]
    found.sort(key=lambda k: (k.family, k.dtype, -isas[k.isa].rank, -k.mr * k.nr, k.name))
    for family in sorted({k.typed_family for k in found}):
        members = [k for k in found if k.typed_family == family]
        if not members[-1].portable:
            raise SchemaError(
                f"kernel family {family} has no portable member",
                where=str(folder),
                hint=f"declare it in kernels/generic/, or write {family}_portable.cpp",
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
    """All kernels of this installation by name, in the order of `read_inventory`; those of a
    plug-in whose kernels break a rule are left out together.
    """
    folders = [paths.root() / "kernels"]
    found = read_inventory(*folders)
    for plugin in plugins.active():
        with plugins.isolated(plugin):
            if plugin.files("kernels"):
                found = read_inventory(*folders, plugin.folder / "kernels")
                folders.append(plugin.folder / "kernels")
    return found


def kernel(name: str) -> Kernel:
    """The kernel of that name; SchemaError when there is none."""
    try:
        return inventory()[name]
    except KeyError:
        raise SchemaError(
            f"there is no kernel {name!r}",
            hint="declared in kernels/generic/, or a file of its name beside it",
        ) from None


def instruments(arch: str, called: set[str]) -> list[Kernel]:
    """The kernels for `arch` of families that are not among those `called` by operators: loops
    that measure the machine, which only the Python engine holds.
    """
    return [
        k for k in inventory().values() if k.family not in called and arch in isas()[k.isa].arch
    ]
