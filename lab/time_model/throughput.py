"""Cycles of basic blocks of machine code, by LLVM's scheduling models of cores.

A block is modeled as a loop with all data in the L1 cache, because the hot blocks of a network are
loops. These are models, not measurements.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from trimtab.cores import Core
from trimtab.errors import BuildError, MissingRequirementError, UsageError
from trimtab.progress import SILENT, Progress

_ITERATIONS = 50
_SECONDS = 120.0
_REGIONS = 64  # per run of llvm-mca
_OPTIONS = {"aarch64": ("-mattr=+fullfp16,+dotprod,+i8mm",), "x86_64": ()}
# A separator between blocks that no compiler emits: its machine code and its disassembly.
_SEPARATORS = {
    "aarch64": (bytes.fromhex("efbe0000"), re.compile(r"^\s*udf\s+#48879$", re.MULTILINE)),
    "x86_64": (
        bytes.fromhex("bb6d697274"),
        re.compile(r"^\s*movl\s+\$1953655149, %ebx.*$", re.MULTILINE),
    ),
}
# Hints have no effect, but the models serialize at them.
_HINT = re.compile(r"^\s*(?:nop|yield|prfm\s.*)$", re.MULTILINE)
_HINT_STAND_IN = {"aarch64": "mov x28, xzr", "x86_64": "nop"}


def require_model(core: Core) -> None:
    """UsageError when LLVM has no model for the core; MissingRequirementError without LLVM."""
    if core.llvm_mca is None or next(iter(core.features)) not in _OPTIONS:
        raise UsageError(
            f"LLVM has no scheduling model of {core.name}",
            hint="use a core whose file has [llvm_mca] (docs/cores.md)",
        )
    for name in ("llvm-mc", "llvm-mca"):
        _tool(name)


def cycles(
    blocks: Mapping[int, bytes], core: Core, progress: Progress = SILENT
) -> dict[int, float]:
    """Cycles of one iteration of each block, without blocks that LLVM cannot disassemble.

    The maximum of the simulated cycles (by `llvm_mca.timing` of the core's file, or its model) and
    the occupation of the busiest pipe. UsageError for a core without an LLVM model.
    """
    require_model(core)
    assert core.llvm_mca is not None
    arch = next(iter(core.features))
    texts = dict(zip(blocks, _disassembled(list(blocks.values()), core, arch), strict=True))
    code = {n: _HINT.sub(_HINT_STAND_IN[arch], text) for n, text in texts.items() if text}
    timing = core.llvm_mca.timing or core.llvm_mca.model
    with progress.step(f"model the blocks on {core.name}", "blocks") as step:
        simulated = {}
        for number, iteration, _ in _modeled(code, arch, timing):
            simulated[number] = iteration
            step.update(len(simulated))
        bounds = {}
        for pattern, stand_in in core.llvm_mca.stand_ins.items():
            code = {number: re.sub(pattern, stand_in, text) for number, text in code.items()}
        for number, _, bound in _modeled(code, arch, core.llvm_mca.model):
            bounds[number] = bound
            step.update(len(simulated) + len(bounds))
    return {n: max(simulated[n], bounds[n]) for n in simulated.keys() & bounds.keys()}


def _disassembled(blocks: Sequence[bytes], core: Core, arch: str) -> list[str]:
    """The disassembly of each block, "" for one that LLVM cannot disassemble."""
    assert core.llvm_mca is not None
    command = [_tool("llvm-mc"), "--disassemble", f"--triple={arch}", *_OPTIONS[arch]]
    if arch == "x86_64":
        command.append(f"--mcpu={core.llvm_mca.model}")
    separator, pattern = _SEPARATORS[arch]
    # LLVM disassembles each bracketed group separately, so an invalid block does not spread.
    parts = (f"[{_words(code)}] [{_words(separator)}]" for code in blocks)
    printed = _output(command, "\n".join(parts), codes=(0, 1))  # 1: a block was invalid
    text = re.sub(r"^\s*\.\w+.*$", "", printed, flags=re.MULTILINE)
    texts = [part.strip() for part in pattern.split(text)[:-1]]
    if len(texts) != len(blocks):
        raise BuildError(f"llvm-mc disassembled {len(texts)} of {len(blocks)} blocks")
    return texts


def _words(code: bytes) -> str:
    return " ".join(f"0x{byte:02x}" for byte in code)


def _modeled(texts: Mapping[int, str], arch: str, model: str) -> Iterator[tuple[int, float, float]]:
    """Yields number, cycles of an iteration, and cycles of the busiest pipe of each block."""
    command = [
        _tool("llvm-mca"),
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
        for region in json.loads(_output(command, code))["CodeRegions"]:
            summary = region["SummaryView"]
            iteration = summary["TotalCycles"] / _ITERATIONS
            yield int(region["Name"]), iteration, summary["BlockRThroughput"]


def _tool(name: str) -> str:
    """The path of one of LLVM's programs; MissingRequirementError when it is not installed."""
    path = shutil.which(f"{name}-19") or shutil.which(name)
    if path is None:
        raise MissingRequirementError(
            f"{name} is not installed", hint="sudo apt-get install llvm-19, or ./inv setup"
        )
    return path


def _output(command: Sequence[str], text: str = "", *, codes: Sequence[int] = (0,)) -> str:
    """The standard output of a program with the input `text`; BuildError for other exit codes."""
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{Path(command[0]).name} does not run: {error}") from error
    if done.returncode not in codes:
        raise BuildError(f"{Path(command[0]).name} failed: {done.stderr.strip()[-500:]}")
    return done.stdout
