"""The machine that a program is planned for."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass

from trimtab import kernels
from trimtab.errors import UsageError

# CPU -> architecture and CPU features, in the names of isa.toml. "generic": what a build for any
# machine of the architecture may assume; every aarch64 core has NEON, and every armv7 board worth
# deploying on has NEON with VFPv4. Where the assumption is wrong the engine takes another kernel
# of the same tile, at last the portable one.
_NEON = frozenset({"neon"})
_V7 = frozenset({"neon", "vfpv4"})
_V8_2 = frozenset({"neon", "fp16", "dotprod"})
_AVX2 = frozenset({"avx2", "fma"})
_CPUS: dict[str, dict[str, frozenset[str]]] = {
    "aarch64": {
        "generic": _NEON,
        "cortex-a35": _NEON,
        "cortex-a53": _NEON,
        "cortex-a55": _V8_2,
        "cortex-a57": _NEON,
        "cortex-a72": _NEON,
        "cortex-a73": _NEON,
        "cortex-a76": _V8_2,
        "cortex-a78": _V8_2,
        "neoverse-n1": _V8_2,
    },
    "armv7": {
        "generic": _V7,
        "cortex-a5": _V7,
        "cortex-a7": _V7,
        "cortex-a8": _NEON,
        "cortex-a9": _NEON,
        "cortex-a15": _V7,
        "cortex-a17": _V7,
    },
    "x86_64": {
        "generic": _AVX2,
        "haswell": _AVX2,
        "skylake-avx512": _AVX2 | {"avx512f", "avx512vl", "avx512dq", "avx512bw"},
    },
    "riscv64": {"generic": frozenset()},
}


@dataclass(frozen=True)
class Target:
    """An architecture, the rows of isa.toml that its CPU can run (lowest rank first), and threads.

    `threads` is the number that the program will run with; planning may depend on it, results do
    not.
    """

    name: str
    arch: str
    isas: tuple[str, ...]
    threads: int = 1

    @staticmethod
    def of(arch: str, cpu: str | None = None, threads: int = 1) -> Target:
        """A machine by architecture and core ("cortex-a53"); no core means any of that kind."""
        if arch not in _CPUS:
            raise UsageError(
                f"unknown architecture {arch!r}", hint=f"use one of {', '.join(_CPUS)}"
            )
        cpu = (cpu or "generic").replace("_", "-")
        if cpu not in _CPUS[arch]:
            raise UsageError(
                f"unknown {arch} CPU {cpu!r}", hint=f"use one of {', '.join(_CPUS[arch])}"
            )
        return Target(f"{arch} {cpu}", arch, runnable_isas(arch, _CPUS[arch][cpu], cpu), threads)

    @staticmethod
    def portable(arch: str = "x86_64") -> Target:
        """A machine with nothing but the portable kernels."""
        return Target(f"{arch} portable", arch, (kernels.PORTABLE,))

    @staticmethod
    def host(threads: int = 1) -> Target:
        """This machine, as the engine sees it; TRIMTAB_ISA limits it to that row and lower ones."""
        from trimtab.engine import engine

        arch = {"AMD64": "x86_64", "arm64": "aarch64", "armv7l": "armv7"}.get(
            platform.machine(), platform.machine()
        )
        isas = runnable_isas(arch, engine().cpu_features())
        if limit := os.environ.get("TRIMTAB_ISA"):
            isas = _up_to(limit, arch, isas)
        return Target(f"this machine ({', '.join(isas)})", arch, isas, threads)


def runnable_isas(arch: str, features: Iterable[str], core: str = "generic") -> tuple[str, ...]:
    """The rows of isa.toml for `arch` that need no more than `features`, lowest rank first.

    Those that are scheduled for some cores only if `core` is one of them.
    """
    have = set(features)
    return tuple(
        isa.name
        for isa in kernels.isas().values()
        if isa.name == kernels.PORTABLE
        or (
            arch in isa.arch
            and have.issuperset(isa.features)
            and (not isa.cores or core in isa.cores)
        )
    )


def _up_to(limit: str, arch: str, isas: tuple[str, ...]) -> tuple[str, ...]:
    known = {name: isa for name, isa in kernels.isas().items() if arch in isa.arch}
    if limit not in known:
        raise UsageError(
            f"unknown instruction set {limit!r}",
            where="environment variable TRIMTAB_ISA",
            hint=f"use one of {', '.join(known)}",
        )
    return tuple(name for name in isas if known[name].rank <= known[limit].rank)
