"""What llvm-mca's models of ARM cores say about the inner loops of the matrix kernels.

No ARM hardware takes part: a kernel is compiled as it is for a binary, its hottest loop is taken
out of the object, and the cycles that the model of a core gives it are compared with those that its
multiply-adds alone would keep the core's FMA pipes busy (the bound). The models know no caches.
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

# Cycles of each multiply-add, as a longer loop is not a worse one.
BASELINE = Baseline("mca", ("kernel", "built_for", "core"), ("cycles_per_fma",))
FAMILIES = ("gemm", "depthwise")
_DTYPE = "f32"  # whose multiply-adds _FMA knows
_TOOLCHAIN = "aarch64-linux-musl"
_ITERATIONS = 200
_BRANCH = re.compile(r"(?:b\.\w+|b|cbn?z\s+\w+,|tbn?z\s+\w+, #\w+,)\s+0x([0-9a-f]+)\b.*")
_FMA = re.compile(r"fml[as]\s+v")


@dataclass(frozen=True)
class Loop:
    """One inner loop: its instructions in order, the branch back to the first one last."""

    kernel: str
    lines: tuple[str, ...]

    @property
    def fma(self) -> int:
        """How many of them multiply and add vectors."""
        return sum(bool(_FMA.match(line)) for line in self.lines)


@dataclass(frozen=True)
class Modeled:
    """What one core's model says of one loop, in cycles of one turn."""

    loop: Loop
    built_for: str
    core: str
    cycles: float
    bound: float  # the cycles that the FMA pipes need
    planned: bool  # a plan for the core takes this kernel of its family

    @property
    def share(self) -> float:
        """The part of the time that the FMA pipes are busy, 1 at best."""
        return self.bound / self.cycles


def modeled_cores() -> tuple[Core, ...]:
    """The cores of which LLVM has a model that bears their name, and that run what is compiled."""
    arch = toolchain.find_toolchain(_TOOLCHAIN).arch
    return tuple(
        core
        for core in cores.all_cores()
        if core.llvm_mca and core.llvm_mca.model == core.name and arch in core.features
    )


def model(cpu: str, progress: Progress = SILENT) -> tuple[Modeled, ...]:
    """Every inner loop, built for the core `cpu`, on the model of every core that LLVM has one of.

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


def table(found: Iterable[Modeled]) -> Table:
    """One row per loop and core; its records are what is committed."""
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
        for row in found
    ]
    return Table(columns, rows)


def to_results(found: Iterable[Modeled], command: str) -> Results:
    """What is committed. Errors as of `model`."""
    shown = re.search(r"LLVM version (\S+)", output([tool("llvm-mca"), "--version"]))
    versions = {"zig": metadata.version("ziglang"), "LLVM": shown[1] if shown else "unknown"}
    return Results(command=command, versions=versions, rows=table(found).records())


_OBJDUMP = ("--disassemble", "--no-show-raw-insn", "--no-print-imm-hex")


def hottest_loop(kernel: str, disassembly: str) -> Loop:
    """The innermost loop with the most multiply-adds in the text of llvm-objdump."""
    sections = re.split(r"^Disassembly of section .*$", disassembly, flags=re.MULTILINE)
    found = [Loop(kernel, lines) for section in sections for lines in _inner_loops(section)]
    best = max(found, key=lambda loop: loop.fma, default=None)
    if best is None or best.fma == 0:
        raise BuildError("the kernel has no loop of vector multiply-adds", where=kernel)
    return best


def _inner_loops(section: str) -> Iterable[tuple[str, ...]]:
    rows = re.findall(r"^\s*([0-9a-f]+):\s+(\S.*)$", section, flags=re.MULTILINE)
    places = {int(address, 16): i for i, (address, _) in enumerate(rows)}
    code = [re.sub(r"\s*(//|<).*", "", text).replace("\t", " ") for _, text in rows]
    spans = []
    for end, line in enumerate(code):
        branch = _BRANCH.fullmatch(line)
        begin = places.get(int(branch[1], 16)) if branch else None
        if begin is not None and begin <= end:
            spans.append((begin, end))
    for begin, end in spans:
        if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in spans):
            # An assembler of one loop knows no addresses: branches go to themselves.
            yield tuple(re.sub(r"0x[0-9a-f]+$", ".", line) for line in code[begin : end + 1])


def _objects(built_for: Core, progress: Progress) -> Mapping[str, Path]:
    chosen = toolchain.find_toolchain(_TOOLCHAIN)
    cmake_file = toolchain.cmake_file(chosen, built_for.name)
    tree = paths.cache() / "build" / f"mca-{_TOOLCHAIN}-{built_for.name}"
    tree.mkdir(parents=True, exist_ok=True)
    known = kernels.isas()
    found = {
        kernel.name: Path("CMakeFiles/trimtab.dir", f"{kernel.path}.o")
        for kernel in kernels.inventory().values()
        if kernel.family in FAMILIES
        and kernel.dtype == _DTYPE
        and not kernel.portable
        and chosen.arch in known[kernel.isa].arch
    }
    options = {"TRIMTAB_PROFILE": "full", "TRIMTAB_OPTIMIZE": "-Os"}
    configure = builder.configure_command(tree, cmake_file, "Release", options)
    objects = [str(path) for path in found.values()]
    cmake_runner.run(tree, configure, objects, "build the inner loops", progress=progress)
    return {name: tree / path for name, path in sorted(found.items())}


def _planned(core: Core) -> set[str]:
    """The kernels that plans choose: of each tile that of the highest rank."""
    target = Target.of(toolchain.find_toolchain(_TOOLCHAIN).arch, core.name)
    best: dict[object, str] = {}
    for kernel in target.kernels():  # highest rank first
        best.setdefault((kernel.typed_family, kernel.packing), kernel.name)
    return {*best.values()}


def _modeled(tool: str, loop: Loop, built_for: Core, core: Core, planned: bool) -> Modeled:
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
    return Modeled(
        loop,
        built_for.name,
        core.name,
        report["SummaryView"]["TotalCycles"] / _ITERATIONS,
        bound,
        planned,
    )
