"""Cores: the CPU cores that trimtab knows, one file `cores/NAME.toml` each, and the user's own.

    core = cores.find("cortex-a53", "aarch64")
    core.l2.bytes, core.pipes.f32_fmas_per_cycle, core.features["aarch64"]

There is no list to edit: a core is found by the name of its file. The canonical spelling of a name
has dashes; `cortex_a53` and `Cortex-A53` are accepted as well. docs/cores.md explains the keys.
Uses the standard library only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from trimtab import paths, plugins
from trimtab.errors import SchemaError, UsageError
from trimtab.toml_table import Above, Minimum, TomlFile

GENERIC = "generic"
"""The core of an architecture that a program for any of its machines may assume."""

LIKELY_PART, LIKELY_SHARERS = 4 << 20, 8
"""The largest part of a third-level cache that one core is likely to keep for itself, in bytes, and
the cores that are likely to share it: those of Zen 2 to 5. Intel's cores have 1.4 to 3.9 MB.
"""

Count = Annotated[int, Minimum(1)]
Positive = Annotated[float, Above(0)]
Part = Annotated[float, Minimum(0)]
Pairs = Annotated[tuple[tuple[int, int], ...], Minimum(0)]


@dataclass(frozen=True)
class Cache:
    """A cache that `shared_by` cores share; 1 if each core has its own."""

    bytes: Count
    ways: Count
    line_bytes: Count
    shared_by: Count = 1


@dataclass(frozen=True)
class Pipes:
    """Operations that a core can start per cycle without stalls.

    `issue_width`: instructions. `f32_fmas_per_cycle`: float32 multiply-adds, all lanes of all pipes
    together. `load_bytes_per_cycle`: from the first-level cache. `l2_bytes_per_cycle`: into the
    second level and out of it, as programs see it; 0: not known, and plans ignore it.
    """

    in_order: bool
    issue_width: Count
    f32_fmas_per_cycle: Count
    loads_per_cycle: Count
    load_bytes_per_cycle: Count
    l2_bytes_per_cycle: int = 0


@dataclass(frozen=True)
class Memory:
    """The clock and memory of a typical board with the core.

    `gb_per_s`: bandwidth of all cores together in GB (1e9 bytes) per second; `core_gb_per_s`: that
    of a single core, if it is lower. `is_shared`: measured while the machine had other work, so
    that plans do not rely on it.
    """

    clock_ghz: Positive
    gb_per_s: Positive
    core_gb_per_s: Positive | None = None
    is_shared: bool = False


@dataclass(frozen=True)
class LlvmMca:
    """The LLVM scheduling model that stands for a core.

    `stand_ins`: regular expressions of instructions that the model gets wrong -> the instruction to
    model instead. `timing`: the model with the right latencies, if they are not those of `model`.
    """

    model: str
    timing: str = ""
    stand_ins: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class KernelFit:
    """The fitted time of operators that `algorithm` computes with `kernel` and `threads`, as a sum:
    cycles of `Memory.clock_ghz` for each unit of a part of the work (`trimtab.planner.fitted`), and
    for each `call`. `samples`: how many it is fitted to; `error`: root mean square of their
    relative errors.
    """

    kernel: str
    algorithm: str
    threads: Count
    samples: Count
    error: Part
    products: Part = 0.0
    macs: Part = 0.0
    tiles: Part = 0.0
    transforms: Part = 0.0
    pointers: Part = 0.0
    roundings: Part = 0.0
    bytes: Part = 0.0
    far: Part = 0.0
    call: Part = 0.0


@dataclass(frozen=True)
class Fit:
    """The measurements of `core.fit` on one machine; docs/cores.md explains it.

    `unit`: "ns", or "instructions" under an emulator, where nothing is a time. `scale`: measured
    over modeled cycles, the geometric mean, for work that has no row in `kernels`. `hand_over`:
    cycles that a loop takes longer because threads share it. `cache_bytes`: what one core keeps of
    the caches when it works alone, 0 if that could not be told.
    """

    date: str
    machine: str
    unit: Literal["ns", "instructions"]
    scale: Positive
    hand_over: Part = 0.0
    cache_bytes: Annotated[int, Minimum(0)] = 0
    kernels: tuple[KernelFit, ...] = field(default=(), hash=False)

    @cached_property
    def by_kernel(self) -> Mapping[tuple[str, str], tuple[KernelFit, ...]]:
        """The rows by kernel and algorithm, fewest threads first."""
        rows: dict[tuple[str, str], tuple[KernelFit, ...]] = {}
        for row in sorted(self.kernels, key=lambda row: row.threads):
            key = row.kernel, row.algorithm
            rows[key] = (*rows.get(key, ()), row)
        return rows


@dataclass(frozen=True)
class Cpuid:
    """The CPUID values of an x86 core; `models`: first and last of each range."""

    vendor: str
    family: Annotated[int, Minimum(1)]
    models: Pairs


@dataclass(frozen=True)
class Core:
    """One file of `cores/`.

    `features`: by architecture that the core runs (its native one first), with the names of
    runtime/core/cpu.cpp. `l2`: the level after `l1d`; `l3`: the last level, if there is a third.
    `compiler`: the name in GCC and clang, empty for a generic core. `qemu`: the QEMU model with
    these features, empty if there is none. `midr`: implementer and part of MIDR_EL1. `sum_cost`:
    measured value of the key of that name in kernels/isa.toml. `fit`: None for rows that no
    machine was fitted to.
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
    sum_cost: Positive | None = None
    fit: Fit | None = None

    @property
    def is_generic(self) -> bool:
        """True for the core that stands for any machine of its architecture."""
        return not self.compiler

    def compiler_name(self, compiler: str) -> str:
        """The core's name in the spelling of `compiler` ("zig", or any other)."""
        return self.compiler.replace("-", "_") if compiler == "zig" else self.compiler


def spelling(name: str) -> str:
    """The canonical spelling of a core's name: `cortex-a53` for `cortex_a53` and `Cortex-A53`."""
    return name.strip().lower().replace("_", "-")


def find(name: str | None, arch: str | None = None) -> Core:
    """The core called `name`, in any spelling, for the architecture `arch` (None: any). The last
    part of its name is enough where no other core has it: `a53`.

    With an `arch`, None and "generic" mean its generic core. UsageError, with similar names, if
    there is no such core or it does not run `arch`.
    """
    files, key = _files(), spelling(name or GENERIC)
    if arch is not None:
        generic = spelling(f"{GENERIC}-{arch}")
        if generic not in files:
            architectures = sorted({arch for core in all_cores() for arch in core.features})
            hint = f"use one of {', '.join(architectures)}"
            raise UsageError(f"unknown architecture {arch!r}", hint=hint)
        key = generic if key == GENERIC else key
    ends = [full for full in files if full.endswith(f"-{key}")]
    path = files.get(key) or (files[ends[0]] if len(ends) == 1 else None)
    if path is None:
        raise UsageError(f"unknown core {name!r}", hint=_hint(key, arch))
    core = _read(path)
    if arch is not None and arch not in core.features:
        raise UsageError(
            f"{core.name} runs {' and '.join(core.features)}, not {arch}",
            hint=f"--toolchain chooses the architecture; {_hint(key, arch)}",
        )
    return core


def all_cores() -> tuple[Core, ...]:
    """All cores, the user's own first; a user's core replaces a built-in one with the same name."""
    return tuple(_read(path) for path in _files().values())


def builtin() -> tuple[Core, ...]:
    """The cores of trimtab and of plug-ins, without the user's own."""
    return tuple(_read(path) for path in _builtin_files().values())


def _identified_by(key: str) -> Iterator[Core]:
    """The cores in whose files this key occurs; the others are not parsed."""
    for path in _files().values():
        if key in _text_of_state(path, _state(path)):
            yield _read(path)


def by_midr(implementer: int, part: int) -> Core | None:
    """The first ARM core with these identification values, or None."""
    return next((c for c in _identified_by("midr") if (implementer, part) in c.midr), None)


def by_cpuid(vendor: str, family: int, model: int) -> Core | None:
    """The first x86 core with these identification values, or None."""
    for core in _identified_by("cpuid"):
        cpuid = core.cpuid
        if (
            cpuid
            and (cpuid.vendor, cpuid.family) == (vendor, family)
            and any(first <= model <= last for first, last in cpuid.models)
        ):
            return core
    return None


def this_machine(arch: str, system: Path = Path("/")) -> Core:
    """This machine's core according to `/proc/cpuinfo`; `system`: the folder with `proc` and `sys`.

    If cores differ (big.LITTLE), the one with the most multiply-adds per cycle. An unknown machine
    gets the generic core of `arch` with the caches that `/sys` describes, as far as they are
    likely.
    """
    try:
        identified = identify(
            (system / "proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        )
    except OSError:
        identified = ()
    matching = [core for core in identified if arch in core.features]
    if matching:
        return max(matching, key=lambda core: core.pipes.f32_fmas_per_cycle)
    caches = system_caches(system / "sys/devices/system/cpu/cpu0/cache")
    if "l3" in caches:
        caches["l3"] = likely(caches["l3"])
    return replace(find(GENERIC, arch), **caches)


def identify(cpuinfo: str) -> tuple[Core, ...]:
    """The known cores in the text of /proc/cpuinfo, each once."""

    def values(key: str, form: str) -> list[str]:
        return re.findall(rf"^{key}[ \t]*:[ \t]*({form})$", cpuinfo, flags=re.MULTILINE)

    hexadecimal, number = "0x[0-9a-f]+", "[0-9]+"
    arm = zip(values("CPU implementer", hexadecimal), values("CPU part", hexadecimal), strict=False)
    candidates = [by_midr(int(maker, 16), int(part, 16)) for maker, part in dict.fromkeys(arm)]
    columns = (values("vendor_id", r"\S+"), values("cpu family", number), values("model", number))
    x86 = dict.fromkeys(zip(*columns, strict=False))
    candidates += [by_cpuid(maker, int(family), int(model)) for maker, family, model in x86]
    return tuple(dict.fromkeys(core for core in candidates if core))


def system_caches(folder: Path) -> dict[str, Any]:
    """The caches that Linux' sysfs describes completely, as fields of a `Core`."""
    caches = {}
    for index in sorted(folder.glob("index*")):
        try:
            level, kind, size, ways, line, cpus = (
                (index / name).read_text().strip()
                for name in (
                    *("level", "type", "size", "ways_of_associativity", "coherency_line_size"),
                    "shared_cpu_list",
                )
            )
            level_cache = Cache(
                int(size.removesuffix("K")) * 1024, int(ways), int(line), _count(cpus)
            )
        except (OSError, ValueError):
            continue
        suffix = {"Data": "d", "Instruction": "i"}.get(kind, "") if level == "1" else ""
        if level_cache.ways and level_cache.line_bytes:
            caches[f"l{level}{suffix}"] = level_cache
    return {name: caches[name] for name in ("l1i", "l1d", "l2", "l3") if name in caches}


def likely(l3: Cache) -> Cache:
    """The third-level cache that a machine's cores get of the `l3` that it claims: a virtual
    machine may claim that of the whole host, for the few cores that it has.
    """
    sharers = max(l3.shared_by, LIKELY_SHARERS)
    if l3.bytes <= sharers * LIKELY_PART:
        return l3
    return replace(l3, bytes=sharers * LIKELY_PART, shared_by=sharers)


def _count(cpus: str) -> int:
    """The number of CPUs in a list such as `0-3,8`."""
    ends = [part.split("-") for part in cpus.split(",")]
    return sum(int(span[-1]) - int(span[0]) + 1 for span in ends)


def _files() -> dict[str, Path]:
    own = _folder(paths.config())
    return own | _builtin_files() | own  # first, and with precedence


def _builtin_files() -> dict[str, Path]:
    files = plugins.merged_files("cores", _folder(paths.root()))
    return {spelling(name): path for name, path in files.items()}


def _folder(above: Path) -> dict[str, Path]:
    folder = above / "cores"
    names = tuple(entry.name for entry in os.scandir(folder)) if folder.is_dir() else ()
    return _named(folder, names)


@cache
def _named(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    return {spelling(name[:-5]): folder / name for name in sorted(names) if name.endswith(".toml")}


def _hint(name: str, arch: str | None) -> str:
    import difflib  # for this message alone

    names = [core.name for core in all_cores() if arch is None or arch in core.features]
    near = difflib.get_close_matches(name, names)
    listing = f"known{f' for {arch}' if arch else ''}: {', '.join(names)}; "
    listing += f"your own: {paths.config() / 'cores'}/NAME.toml"
    return f"did you mean {' or '.join(near)}? {listing}" if near else listing


def _read(path: Path) -> Core:
    return _read_state(path, _state(path))


def _state(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


@cache
def _text_of_state(path: Path, _state: tuple[int, ...]) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _read_state(path: Path, state: tuple[int, ...]) -> Core:
    """The core of a file in a state: `core.fit` may write it anew while the process runs."""
    file = TomlFile(path, SchemaError, hint="docs/cores.md explains the keys")
    if "name" in file.table:
        raise file.error("unknown key `name`: the name of a core is that of its file")
    table = dict(file.table)
    compiler = table.pop("compiler", spelling(path.stem))
    core = file.record(Core, table, name=spelling(path.stem), compiler=compiler)
    if not isinstance(compiler, str):
        raise file.wrong("compiler", "a string")
    for key in ("l1i", "l1d", "l2", "l3"):
        level: Cache | None = getattr(core, key)
        if level and level.bytes % (level.ways * level.line_bytes):
            raise file.wrong(f"{key}.bytes", "a multiple of `ways` times `line_bytes`")
    if not core.features:
        raise file.wrong("features", "a table with the features by architecture")
    return core
