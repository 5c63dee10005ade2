"""Cores: what trimtab knows of a CPU core, a file `cores/NAME.toml` each, and the user's own.

    core = cores.find("cortex-a53", "aarch64")
    core.l2.bytes, core.pipes.f32_fmas_per_cycle, core.features["aarch64"]

There is no list to edit: a core is found by its file's name. A name has one spelling, with dashes;
people may write `cortex_a53` or `Cortex-A53` as well. docs/cores.md explains the keys. Uses the
standard library only.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from trimtab import paths, plugins
from trimtab.errors import SchemaError, UsageError

GENERIC = "generic"  # of each architecture: what a program for any machine of it may assume

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Cache:
    """A cache that `shared_by` cores have in common, 1 where each has its own."""

    bytes: int
    ways: int
    line_bytes: int
    shared_by: int = 1


@dataclass(frozen=True)
class Pipes:
    """What a core can begin in a cycle, when nothing stalls.

    `issue_width`: instructions. `f32_fmas_per_cycle`: multiply-adds of one float, all lanes of all
    pipes together. `load_bytes_per_cycle`: from the first-level cache.
    """

    in_order: bool
    issue_width: int
    f32_fmas_per_cycle: int
    loads_per_cycle: int
    load_bytes_per_cycle: int


@dataclass(frozen=True)
class Memory:
    """What a usual board with the core has: its clock, and what all cores together read and write,
    in GB (1e9 bytes) per second; `core_gb_per_s`: what one of them gets, where that is less.
    `is_shared`: measured beside other work, which a plan does not count on.
    """

    clock_ghz: float
    gb_per_s: float
    core_gb_per_s: float | None = None
    is_shared: bool = False


@dataclass(frozen=True)
class LlvmMca:
    """The scheduling model of LLVM that stands for a core.

    `stand_ins`: regular expressions for instructions that the model gets wrong -> what to model
    instead. `timing`: the model whose latencies hold, where they are not those of `model`.
    """

    model: str
    timing: str = ""
    stand_ins: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Cpuid:
    """How an x86 core calls itself; `models`: first and last of each range."""

    vendor: str
    family: int
    models: Pairs


@dataclass(frozen=True)
class Core:
    """One file of `cores/`.

    `features`: by architecture that it runs (its own first), in the names of runtime/core/cpu.cpp.
    `l2`: the level that a miss of `l1d` goes to; `l3`: the last one, where there is a third.
    `compiler`: GCC's and clang's name, empty for a generic core, of which they are told nothing.
    `qemu`: QEMU's model with these features, empty where there is none. `midr`: implementer and
    part of MIDR_EL1. `sum_cost`: as in kernels/isa.toml, where it was measured.
    """

    name: str
    doc: str
    features: Mapping[str, frozenset[str]] = field(hash=False)
    l1i: Cache
    l1d: Cache
    l2: Cache
    pipes: Pipes
    compiler: str
    l3: Cache | None = None
    qemu: str = ""
    llvm_mca: LlvmMca | None = None
    memory: Memory | None = None
    midr: Pairs = ()
    cpuid: Cpuid | None = None
    sum_cost: float | None = None

    @property
    def is_generic(self) -> bool:
        """True for what stands for any machine of its architecture."""
        return not self.compiler

    def compiler_name(self, compiler: str) -> str:
        """The core as `compiler` ("zig", or any other) spells it."""
        return self.compiler.replace("-", "_") if compiler == "zig" else self.compiler


def spelling(name: str) -> str:
    """The one spelling of a core's name: `cortex-a53` for `cortex_a53` and `Cortex-A53`."""
    return name.strip().lower().replace("_", "-")


def find(name: str | None, arch: str | None = None) -> Core:
    """The core that `name` means, in any spelling, on a machine of `arch` (None: of any).

    With an `arch`, None and "generic" mean any machine of it. UsageError, with the names that are
    near, when there is no such core, or it does not run `arch`.
    """
    files, wanted = _files(), spelling(name or GENERIC)
    if arch is not None:
        generic = spelling(f"{GENERIC}-{arch}")
        if generic not in files:
            known = sorted({arch for core in all_cores() for arch in core.features})
            hint = f"use one of {', '.join(known)}"
            raise UsageError(f"unknown architecture {arch!r}", hint=hint)
        wanted = generic if wanted == GENERIC else wanted
    path = files.get(wanted)
    if path is None:
        raise UsageError(f"unknown core {name!r}", hint=_hint(wanted, arch))
    core = _read(path)
    if arch is not None and arch not in core.features:
        raise UsageError(
            f"{core.name} runs {' and '.join(core.features)}, not {arch}", hint=_hint(wanted, arch)
        )
    return core


def all_cores() -> tuple[Core, ...]:
    """All cores, the user's own first, which replace those of the project with their names."""
    return tuple(_read(path) for path in _files().values())


def builtin() -> tuple[Core, ...]:
    """The project's own cores, whatever the user has."""
    return tuple(_read(path) for path in _ours().values())


def by_midr(implementer: int, part: int) -> Core | None:
    """The first ARM core that identifies itself so, None when no file knows it."""
    return next((core for core in all_cores() if (implementer, part) in core.midr), None)


def by_cpuid(vendor: str, family: int, model: int) -> Core | None:
    """The first x86 core that identifies itself so, None when no file knows it."""
    for core in all_cores():
        known = core.cpuid
        if (
            known
            and (known.vendor, known.family) == (vendor, family)
            and any(first <= model <= last for first, last in known.models)
        ):
            return core
    return None


def this_machine(arch: str, system: Path = Path("/")) -> Core:
    """This machine's core, by what its `/proc` says; `system`: where to look for `proc` and `sys`.

    Where cores differ (big.LITTLE), the one with the most multiply-adds. A machine that no file
    knows gets the generic core of `arch`, with the caches that its `/sys` tells of.
    """
    try:
        found = identify((system / "proc/cpuinfo").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        found = ()
    own = [core for core in found if arch in core.features]
    if own:
        return max(own, key=lambda core: core.pipes.f32_fmas_per_cycle)
    return replace(
        find(GENERIC, arch), **system_caches(system / "sys/devices/system/cpu/cpu0/cache")
    )


def identify(cpuinfo: str) -> tuple[Core, ...]:
    """The cores that the text of /proc/cpuinfo names and a file knows, each once."""

    def values(key: str, form: str) -> list[str]:
        return re.findall(rf"^{key}[ \t]*:[ \t]*({form})$", cpuinfo, flags=re.MULTILINE)

    hexadecimal, number = "0x[0-9a-f]+", "[0-9]+"
    arm = zip(values("CPU implementer", hexadecimal), values("CPU part", hexadecimal), strict=False)
    found = [by_midr(int(implementer, 16), int(part, 16)) for implementer, part in arm]
    x86 = zip(
        *(values("vendor_id", r"\S+"), values("cpu family", number), values("model", number)),
        strict=False,
    )
    found += [by_cpuid(vendor, int(family), int(model)) for vendor, family, model in x86]
    return tuple(dict.fromkeys(core for core in found if core))


def system_caches(folder: Path) -> dict[str, Any]:
    """The caches that Linux' sysfs describes in full, as fields of a `Core`."""
    found = {}
    for index in sorted(folder.glob("index*")):
        try:
            level, kind, size, ways, line, cpus = (
                (index / name).read_text().strip()
                for name in (
                    *("level", "type", "size", "ways_of_associativity", "coherency_line_size"),
                    "shared_cpu_list",
                )
            )
            own = Cache(int(size.removesuffix("K")) * 1024, int(ways), int(line), _count(cpus))
        except (OSError, ValueError):
            continue
        suffix = {"Data": "d", "Instruction": "i"}.get(kind, "") if level == "1" else ""
        if own.ways and own.line_bytes:
            found[f"l{level}{suffix}"] = own
    return {name: found[name] for name in ("l1i", "l1d", "l2", "l3") if name in found}


def _count(cpus: str) -> int:
    """How many CPUs a list such as `0-3,8` holds."""
    ends = [(part.split("-")[0], part.split("-")[-1]) for part in cpus.split(",")]
    return sum(int(last) - int(first) + 1 for first, last in ends)


def _files() -> dict[str, Path]:
    own = _folder(paths.config())
    return own | _ours() | own  # first, and where both have a name the user's file


def _ours() -> dict[str, Path]:
    files = plugins.merged_files("cores", _folder(paths.root()))
    return {spelling(name): path for name, path in files.items()}


def _folder(above: Path) -> dict[str, Path]:
    return {spelling(path.stem): path for path in sorted((above / "cores").glob("*.toml"))}


def _hint(wanted: str, arch: str | None) -> str:
    names = [core.name for core in all_cores() if arch is None or arch in core.features]
    near = difflib.get_close_matches(wanted, names)
    known = "known" if arch is None else f"known for {arch}"
    known += f": {', '.join(names)}; your own: {paths.config() / 'cores'}/NAME.toml"
    return f"did you mean {' or '.join(near)}? {known}" if near else known


@cache
def _read(path: Path) -> Core:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SchemaError(f"cannot read the core: {error}", where=str(path)) from None
    if "name" in table:
        hint = "a core is called as its file is"
        raise SchemaError("unknown key `name`", where=str(path), hint=hint)
    name = spelling(path.stem)
    core: Core = _as(Core, {"compiler": name, **table, "name": name}, "", path)
    for key in ("l1i", "l1d", "l2", "l3"):
        own: Cache | None = getattr(core, key)
        if own and own.bytes % (own.ways * own.line_bytes):
            raise _wrong(f"{key}.bytes", "a multiple of `ways` times `line_bytes`", path)
    if not core.features:
        raise _wrong("features", "a table with the features by architecture", path)
    return core


_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def _as(kind: Any, value: Any, key: str, path: Path, least: int = 1) -> Any:
    """The value of a TOML file as `kind`: a dataclass by its fields, a container, a plain type.

    Whole numbers are at least `least`, those in lists (what identifies a core) at least 0; others
    are above 0.
    """
    args, origin = get_args(kind), get_origin(kind)
    if is_dataclass(kind):
        return _as_record(kind, value, key, path)
    if origin is UnionType:
        return _as(args[0], value, key, path)
    if origin is Mapping and isinstance(value, dict):
        return {name: _as(args[1], item, f"{key}.{name}", path) for name, item in value.items()}
    if origin is frozenset and isinstance(value, list):
        return frozenset(_as(args[0], item, key, path) for item in value)
    if origin is tuple and isinstance(value, list):
        kinds = args[:1] * len(value) if args[-1] is ... else args
        if len(kinds) == len(value):
            return tuple(_as(k, item, key, path, 0) for k, item in zip(kinds, value, strict=True))
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is kind and not (
        (kind is int and value < least) or (kind is float and value <= 0)
    ):
        return value
    what = _WORDS.get(kind, "a table" if origin is Mapping else "a list")
    limit = {int: f" of at least {least}", float: " above 0"}.get(kind, "")
    raise _wrong(key, what + limit, path)


def _as_record(kind: Any, value: Any, key: str, path: Path) -> Any:
    if not isinstance(value, dict):
        raise _wrong(key, "a table", path)
    hints, dot = get_type_hints(kind), f"{key}." if key else ""
    for field_ in fields(kind):
        needed = field_.default is MISSING and field_.default_factory is MISSING
        if needed and field_.name not in value:
            raise SchemaError(f"`{dot}{field_.name}` is missing", where=str(path), hint=_DOCS)
    for name in value:
        if name not in hints:
            raise SchemaError(
                f"unknown key `{dot}{name}`", where=str(path), hint=f"use one of {', '.join(hints)}"
            )
    return kind(
        **{name: _as(hints[name], item, f"{dot}{name}", path) for name, item in value.items()}
    )


_DOCS = "docs/cores.md explains the keys"


def _wrong(key: str, what: str, path: Path) -> SchemaError:
    return SchemaError(f"`{key}` must be {what}", where=str(path), hint=_DOCS)
