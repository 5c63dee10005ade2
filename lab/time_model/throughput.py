"""Cycles of blocks of machine code, as LLVM's scheduling models of cores give them.

A block is modeled as a loop of itself, with all data in the first-level cache: where a network
spends its time, blocks follow themselves. These are models, not measurements.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from lab.llvm import output, tool
from trimtab.cores import Core
from trimtab.errors import BuildError, UsageError
from trimtab.progress import SILENT, Progress

_ITERATIONS = 50
_REGIONS = 64  # of one run of llvm-mca
_OPTIONS = {"aarch64": ("-mattr=+fullfp16,+dotprod,+i8mm",), "x86_64": ()}
# An instruction that no compiler writes, between blocks: its code and its text.
_BETWEEN = {
    "aarch64": (bytes.fromhex("efbe0000"), re.compile(r"^\s*udf\s+#48879$", re.MULTILINE)),
    "x86_64": (
        bytes.fromhex("bb6d697274"),
        re.compile(r"^\s*movl\s+\$1953655149, %ebx.*$", re.MULTILINE),
    ),
}
# A hint does nothing but take its place; the models let all before it end first.
_HINT = re.compile(r"^\s*(?:nop|yield|prfm\s.*)$", re.MULTILINE)
_HINT_STAND_IN = {"aarch64": "mov x28, xzr", "x86_64": "nop"}


def require_model(core: Core) -> None:
    """UsageError when LLVM has no model that stands for the core; MissingRequirementError without
    LLVM's programs.
    """
    if core.llvm_mca is None or next(iter(core.features)) not in _OPTIONS:
        raise UsageError(
            f"LLVM has no scheduling model of {core.name}",
            hint="take a core whose file has [llvm_mca] (docs/cores.md)",
        )
    for name in ("llvm-mc", "llvm-mca"):
        tool(name)


def cycles(
    blocks: Mapping[int, bytes], core: Core, progress: Progress = SILENT
) -> dict[int, float]:
    """Cycles of one turn of each block; those that LLVM cannot read are left out.

    The longer of what a model's latencies and order give (`llvm_mca.timing` of the core's file, or
    its model), and what its busiest pipe needs. UsageError for a core that LLVM has no model of.
    """
    require_model(core)
    assert core.llvm_mca is not None
    arch = next(iter(core.features))
    texts = dict(zip(blocks, _disassembled(list(blocks.values()), core, arch), strict=True))
    known = {n: _HINT.sub(_HINT_STAND_IN[arch], text) for n, text in texts.items() if text}
    timing = core.llvm_mca.timing or core.llvm_mca.model
    with progress.step(f"model the blocks on {core.name}", "blocks") as step:
        turns = {}
        for number, turn, _ in _modeled(known, arch, timing):
            turns[number] = turn
            step.update(len(turns))
        bounds = {}
        for pattern, stand_in in core.llvm_mca.stand_ins.items():
            known = {number: re.sub(pattern, stand_in, text) for number, text in known.items()}
        for number, _, bound in _modeled(known, arch, core.llvm_mca.model):
            bounds[number] = bound
            step.update(len(turns) + len(bounds))
    return {number: max(turns[number], bounds[number]) for number in turns.keys() & bounds.keys()}


def _disassembled(blocks: Sequence[bytes], core: Core, arch: str) -> list[str]:
    """The text of each block, empty of one that LLVM cannot read."""
    assert core.llvm_mca is not None
    command = [tool("llvm-mc"), "--disassemble", f"--triple={arch}", *_OPTIONS[arch]]
    if arch == "x86_64":
        command.append(f"--mcpu={core.llvm_mca.model}")
    separator, shown = _BETWEEN[arch]
    # What stands in brackets is read for itself: a part that LLVM cannot read ends with it.
    parts = (f"[{_words(code)}] [{_words(separator)}]" for code in blocks)
    printed = output(command, "\n".join(parts), codes=(0, 1))  # 1: there was something unreadable
    text = re.sub(r"^\s*\.\w+.*$", "", printed, flags=re.MULTILINE)
    found = [part.strip() for part in shown.split(text)[:-1]]
    if len(found) != len(blocks):
        raise BuildError("llvm-mc disassembled other blocks than it was given")
    return found


def _words(code: bytes) -> str:
    return " ".join(f"0x{byte:02x}" for byte in code)


def _modeled(texts: Mapping[int, str], arch: str, model: str) -> Iterator[tuple[int, float, float]]:
    """Number, cycles of a turn, and those of its busiest pipe, of each block."""
    command = [
        tool("llvm-mca"),
        f"-mtriple={arch}",
        f"-mcpu={model}",
        "--json",
        "-noalias",
        *_OPTIONS[arch],
    ]
    command += [f"-iterations={_ITERATIONS}", "--skip-unsupported-instructions=any"]
    regions = [f"# LLVM-MCA-BEGIN {n}\n{text}\n# LLVM-MCA-END {n}\n" for n, text in texts.items()]
    for first in range(0, len(regions), _REGIONS):
        code = "".join(regions[first : first + _REGIONS])
        for region in json.loads(output(command, code))["CodeRegions"]:
            summary = region["SummaryView"]
            turn = summary["TotalCycles"] / _ITERATIONS
            yield int(region["Name"]), turn, summary["BlockRThroughput"]
