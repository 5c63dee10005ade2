"""The machine that a program is planned for, and what the binary for it may hold."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from trimtab import cores, kernels
from trimtab.cores import Core
from trimtab.errors import UsageError
from trimtab.kernels import Kernel
from trimtab.profile import Profile


@dataclass(frozen=True)
class Target:
    """An architecture, the rows of isa.toml that its CPU can run (lowest rank first), its core, and
    threads.

    `threads` is the number that the program will run with; planning may depend on it and on the
    core, results do not. `profile`: a binary that holds no more than this is to run the program;
    None: its binary holds what it needs.
    """

    name: str
    arch: str
    isas: tuple[str, ...]
    core: Core
    threads: int = 1
    profile: Profile | None = None

    @staticmethod
    def of(arch: str, cpu: str | None = None, threads: int = 1) -> Target:
        """A machine by architecture and core ("cortex-a53"); no core means any of that kind.

        UsageError when there is no such core, or it does not run the architecture.
        """
        core = cores.find(cpu, arch)
        isas = runnable_isas(arch, core.features[arch], core)
        name = cores.GENERIC if core.is_generic else core.name
        return Target(f"{arch} {name}", arch, isas, core, threads)

    @staticmethod
    def portable(arch: str = "x86_64") -> Target:
        """A machine with nothing but the portable kernels."""
        generic = cores.find(None, arch)
        return Target(f"{arch} portable", arch, (kernels.PORTABLE,), generic)

    @staticmethod
    def host(threads: int = 1) -> Target:
        """This machine, as the engine sees it; TRIMTAB_ISA limits it to that row and lower ones."""
        from trimtab.engine import engine

        arch = {"AMD64": "x86_64", "arm64": "aarch64", "armv7l": "armv7"}.get(
            platform.machine(), platform.machine()
        )
        core = cores.this_machine(arch)
        isas = runnable_isas(arch, engine().cpu_features(), core)
        if limit := os.environ.get("TRIMTAB_ISA"):
            isas = _up_to(limit, arch, isas)
        return Target(f"this machine ({', '.join(isas)})", arch, isas, core, threads)

    def with_profile(self, profile: Profile) -> Target:
        """The same machine with a binary of `profile`: plans take what that holds."""
        return replace(self, profile=profile)

    def holds(self, operator: str) -> bool:
        """Whether its binary may have an operator, by its name."""
        return self.profile is None or operator in _operators(self.profile)

    def kernels(self) -> list[Kernel]:
        """Those that it can run and its binary may have; ProfileError when the profile leaves one
        of its own operators without a kernel.
        """
        held = _kernels(self.profile, self.arch) if self.profile else kernels.inventory().values()
        return [kernel for kernel in held if kernel.isa in self.isas]


@cache
def _operators(profile: Profile) -> frozenset[str]:
    return frozenset(op.name for op in profile.operators())


@cache
def _kernels(profile: Profile, arch: str) -> tuple[Kernel, ...]:
    return tuple(profile.kernels_for(arch))


def runnable_isas(arch: str, features: Iterable[str], core: Core) -> tuple[str, ...]:
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
            and (not isa.cores or core.name in isa.cores)
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
