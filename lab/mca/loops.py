"""Models the inner loops of GEMM and depthwise kernels with llvm-mca, for ARM cores.

A kernel is compiled as for a binary, and its hottest loop is extracted from the object file. The
modeled cycles of the loop are compared with the bound: the cycles that its multiply-adds occupy the
core's FMA pipes. The models contain no caches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from lab.committed import Baseline, Results
from lab.llvm import output, tool
from trimtab import cores, kernels, paths
from trimtab.build import builder, cmake_runner, toolchain
from trimtab.cores import Core
from trimtab.errors import BuildError
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Table, number
from trimtab.target import Target

# Cycles per multiply-add: a longer loop is not slower.
BASELINE = Baseline("mca", ("kernel", "built_for", "core"), ("cycles_per_fma",))
FAMILIES = ("gemm", "depthwise")
_DTYPE = "f32"  # the element type of the instructions in _FMA
_TOOLCHAIN = "aarch64-linux-musl"
_ITERATIONS = 200
_BRANCH = re.compile(r"(?:b\.\w+|b|cbn?z\s+\w+,|tbn?z\s+\w+, #\w+,)\s+0x([0-9a-f]+)\b.*")
_FMA = re.compile(r"fml[as]\s+v")


@dataclass(frozen=True)
class Loop:
    """An inner loop: its instructions in order; the last one branches to the first."""

    kernel: str
    lines: tuple[str, ...]

    @property
    def fma(self) -> int:
        """The number of vector multiply-add instructions."""
        return sum(bool(_FMA.match(line)) for line in self.lines)


@dataclass(frozen=True)
class ModeledLoop:
    """A loop on the model of a core. Cycles are those of one iteration."""

    loop: Loop
    built_for: str
    core: str
    cycles: float
    bound: float  # cycles that the FMA pipes are occupied
    planned: bool  # plans for the core choose this kernel

    @property
    def share(self) -> float:
        """The share of time that the FMA pipes are busy, 1 at best."""
        return self.bound / self.cycles


def modeled_cores() -> tuple[Core, ...]:
    """The cores with an LLVM model of their name that run the toolchain's binaries."""
    arch = toolchain.find_toolchain(_TOOLCHAIN).arch
    return tuple(
        core
        for core in cores.all_cores()
        if core.llvm_mca and core.llvm_mca.model == core.name and arch in core.features
    )


def model(cpu: str, progress: Progress = SILENT) -> tuple[ModeledLoop, ...]:
    """Models each inner loop, built for the core `cpu`, on each core of `modeled_cores`.

    MissingRequirementError without LLVM's tools; BuildError when a kernel does not compile or has
    no loop of multiply-adds.
    """
    built_for = toolchain.find_toolchain(_TOOLCHAIN).core(cpu)
    tools = {name: tool(name) for name in ("llvm-objdump", "llvm-mca")}
    loops = [
        hottest_loop(name, output([tools["llvm-objdump"], *_OBJDUMP, str(path)]))
        for name, path in _objects(built_for, progress).items()
    ]
    planned = {core.name: _planned(core) for core in modeled_cores()}
    return tuple(
        _modeled(tools["llvm-mca"], loop, built_for, core, loop.kernel in planned[core.name])
        for loop in loops
        for core in modeled_cores()
    )


def table(modeled: Iterable[ModeledLoop]) -> Table:
    """One row per loop and core; its records are the committed rows."""
    columns = [
        *(Column("kernel"), Column("built for", key="built_for"), Column("core")),
        *(number("instructions"), number("fma"), number("cycles", ".1f")),
        *(number("bound", ".1f", key="bound_cycles"), number("share", ".4f")),
        *(number("cycles/fma", ".4f", key="cycles_per_fma"), Column("planned")),
    ]
    rows = [
        (
            *(row.loop.kernel, row.built_for, row.core, len(row.loop.lines), row.loop.fma),
            *(row.cycles, row.bound, round(row.share, 4)),
            *(round(row.cycles / row.loop.fma, 4), row.planned),
        )
        for row in modeled
    ]
    return Table(columns, rows)


def to_results(modeled: Iterable[ModeledLoop], command: str) -> Results:
    """The content of the result file. Raises the errors of `model`."""
    match = re.search(r"LLVM version (\S+)", output([tool("llvm-mca"), "--version"]))
    versions = {"zig": metadata.version("ziglang"), "LLVM": match[1] if match else "unknown"}
    return Results(command=command, versions=versions, rows=table(modeled).records())


_OBJDUMP = ("--disassemble", "--no-show-raw-insn", "--no-print-imm-hex")


def hottest_loop(kernel: str, disassembly: str) -> Loop:
    """The innermost loop with the most multiply-adds in the text of llvm-objdump."""
    sections = re.split(r"^Disassembly of section .*$", disassembly, flags=re.MULTILINE)
    loops = [Loop(kernel, lines) for section in sections for lines in _inner_loops(section)]
    best = max(loops, key=lambda loop: loop.fma, default=None)
    if best is None or best.fma == 0:
        raise BuildError("the kernel has no loop of vector multiply-adds", where=kernel)
    return best


def _inner_loops(section: str) -> Iterable[tuple[str, ...]]:
    rows = re.findall(r"^\s*([0-9a-f]+):\s+(\S.*)$", section, flags=re.MULTILINE)
    positions = {int(address, 16): i for i, (address, _) in enumerate(rows)}
    code = [re.sub(r"\s*(//|<).*", "", text).replace("\t", " ") for _, text in rows]
    spans = []
    for end, line in enumerate(code):
        branch = _BRANCH.fullmatch(line)
        begin = positions.get(int(branch[1], 16)) if branch else None
        if begin is not None and begin <= end:
            spans.append((begin, end))
    for begin, end in spans:
        if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in spans):
            # The assembler input has no addresses: branches target themselves.
            yield tuple(re.sub(r"0x[0-9a-f]+$", ".", line) for line in code[begin : end + 1])


def _objects(built_for: Core, progress: Progress) -> Mapping[str, Path]:
    chosen = toolchain.find_toolchain(_TOOLCHAIN)
    cmake_file = toolchain.cmake_file(chosen, built_for.name)
    tree = paths.cache() / "build" / f"mca-{_TOOLCHAIN}-{built_for.name}"
    tree.mkdir(parents=True, exist_ok=True)
    isas = kernels.isas()
    objects = {
        kernel.name: Path("CMakeFiles/trimtab.dir", f"{kernel.path}.o")
        for kernel in kernels.inventory().values()
        if kernel.family in FAMILIES
        and kernel.dtype == _DTYPE
        and not kernel.portable
        and chosen.arch in isas[kernel.isa].arch
    }
    options = {"TRIMTAB_PROFILE": "full", "TRIMTAB_OPTIMIZE": "-Os"}
    configure = builder.configure_command(tree, cmake_file, "Release", options)
    targets = [str(path) for path in objects.values()]
    cmake_runner.run(tree, configure, targets, "build the inner loops", progress=progress)
    return {name: tree / path for name, path in sorted(objects.items())}


def _planned(core: Core) -> set[str]:
    """The kernels that plans choose: the one of the highest rank for each tile."""
    target = Target.of(toolchain.find_toolchain(_TOOLCHAIN).arch, core.name)
    best: dict[object, str] = {}
    for kernel in target.kernels():  # highest rank first
        best.setdefault((kernel.typed_family, kernel.packing), kernel.name)
    return {*best.values()}


def _modeled(tool: str, loop: Loop, built_for: Core, core: Core, planned: bool) -> ModeledLoop:
    assert core.llvm_mca is not None
    arguments = [f"-mcpu={core.llvm_mca.model}", f"-iterations={_ITERATIONS}", "--json"]
    command = [tool, "-mtriple=aarch64", *arguments]
    code = "\n".join(loop.lines) + "\n"
    for pattern, stand_in in core.llvm_mca.stand_ins.items():
        code = re.sub(pattern, stand_in, code)
    report = json.loads(output(command, code))["CodeRegions"][0]
    costs = report["InstructionInfoView"]["InstructionList"]
    bound = sum(
        cost["RThroughput"]
        for line, cost in zip(loop.lines, costs, strict=True)
        if _FMA.match(line)
    )
    return ModeledLoop(
        loop,
        built_for.name,
        core.name,
        report["SummaryView"]["TotalCycles"] / _ITERATIONS,
        bound,
        planned,
    )
