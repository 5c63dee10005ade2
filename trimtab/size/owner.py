"""Says which part of the project an object file belongs to.

The parts are those of a size report:

    op:NAME, kernel:NAME  an operator of runtime/ops or of a plug-in in use, a micro-kernel
    shared:NAME           code that several operators share
    tables                the generated registries
    core:NAME             the engine, by file of runtime/core
    api, runner           its C interface, the program around it
    model                 an embedded model
    libc, compiler_rt     what the toolchain links in
    merged                equal strings and constants of all parts, kept once by the linker
    linker                what the linker makes itself (.got, tables of the dynamic linker)
    elf, padding          headers and section table; gaps for alignment
    symbols               sections that are not loaded
    unattributed          none of these
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import PurePosixPath

from trimtab import kernels, paths, plugins
from trimtab.size.linkmap import INTERNAL

_MEMBER = re.compile(r"^(?P<archive>.*)\((?P<member>[^()]*)\)$")
_TABLE = re.compile(r"\dk\w*(?:Table|TableSize|Fields|SchemaHash)(?:E|$)|kSchemaHash")
_LIBC = re.compile(
    r"^(?:lib(?:c|m|pthread|dl|zigc|c_nonshared|mvec)|[SRg]*crt(?:1|i|n))\.(?:a|o|so)"
)
# GNU ld credits what it makes for the dynamic linker to the first object, crt1.o.
_SYNTHETIC = re.compile(
    r"\.(?:interp|dyn\w*|(?:gnu\.)?hash|gnu\.version\w*|rela?\.\w+|i?plt|got)\b"
)
_COMPILER = re.compile(
    r"^(?:libcompiler_rt|libgcc\w*|libclang_rt\.\S*|(?:clang_)?crt(?:begin|end|_\w+)\w*)\."
)


def owner(source: str, section: str) -> str:
    """The part that a section of the object `source`, as a link map names it, belongs to."""
    if re.search(r"\.(?:str|cst)\d", section):
        return "merged"
    if source == INTERNAL or _SYNTHETIC.match(section):
        return "linker"
    match = _MEMBER.match(source)
    archive = PurePosixPath(match["archive"]).name if match else ""
    path = PurePosixPath(match["member"] if match else source)
    if _LIBC.match(archive or path.name):
        return "libc"
    if _COMPILER.match(archive or path.name):
        return "compiler_rt"
    if "runtime/app" in source:
        return "runner"
    if path.name.startswith("embedded_model"):
        return "model"
    if archive != "libtrimtab.a":
        return "unattributed"
    stem = path.name.partition(".")[0]
    if stem == "isa_table" or (stem in ("registry", "kernel_table") and _TABLE.search(section)):
        return "tables"
    return _stems().get(stem, "unattributed")


@cache
def _stems() -> dict[str, str]:
    """Part by the stem of a source file: an archive keeps its members' names, not their folders."""
    root = paths.root()
    found = {path.stem: f"core:{path.stem}" for path in (root / "runtime/core").glob("*.cpp")}
    found |= {path.stem: "api" for path in (root / "runtime/api").glob("*.cpp")}
    rooms = [plugin.folder / "ops" for plugin in plugins.active()]
    for kind, suffix in (("op", "toml"), ("shared", "cpp")):
        for room in (root / "runtime/ops", *rooms):
            for path in room.glob(f"*.{suffix}"):
                found.setdefault(path.stem, f"{kind}:{path.stem}")
    return found | {name: f"kernel:{name}" for name in kernels.inventory()}
