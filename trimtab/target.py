"""The target that a program is planned for: a machine, and optionally the profile of its binary."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

from trimtab import cores, kernels
from trimtab.cores import Core
from trimtab.errors import UsageError
from trimtab.kernels import Kernel
from trimtab.profile import Profile


@dataclass(frozen=True)
class Target:
    """A machine: its architecture, the rows of isa.toml that its CPU supports (lowest rank first),
    its core and the number of threads.

    The plan may depend on `threads` and `core`, results do not. `profile`: the plan uses only what
    a binary of this profile contains; None: the binary is made to contain what the plan needs.
    """

    name: str
    arch: str
    isas: tuple[str, ...]
    core: Core
    threads: int = 1
    profile: Profile | None = None

    def __repr__(self) -> str:
        return f"<Target {self.name}, threads={self.threads}>"

    @staticmethod
    def of(arch: str, cpu: str | None = None, threads: int = 1) -> Target:
        """A machine by architecture and core ("cortex-a53"); without a core, any machine of the
        architecture.

        UsageError if there is no such core, or it does not run the architecture.
        """
        core = cores.find(cpu, arch)
        isas = runnable_isas(arch, core.features[arch], core)
        name = cores.GENERIC if core.is_generic else core.name
        return Target(f"{arch} {name}", arch, isas, core, threads)

    @staticmethod
    def portable(arch: str = "x86_64") -> Target:
        """A machine with only the portable kernels."""
        generic = cores.find(None, arch)
        return Target(f"{arch} portable", arch, (kernels.PORTABLE,), generic)

    @staticmethod
    def host(threads: int = 1) -> Target:
        """This machine, as the engine detects it; TRIMTAB_ISA limits it to one row of isa.toml and
        the lower ones.
        """
        from trimtab.engine import engine

        arch = {"AMD64": "x86_64", "arm64": "aarch64", "armv7l": "armv7"}.get(
            platform.machine(), platform.machine()
        )
        core = cores.this_machine(arch)
        isas = runnable_isas(arch, engine().cpu_features(), core)
        if limit := os.environ.get("TRIMTAB_ISA"):
            isas = _up_to(limit, arch, isas)
        return Target(f"this machine ({', '.join(isas)})", arch, isas, core, threads)

    @property
    def address_bytes(self) -> int:
        """The largest size of memory in a process: half of what it can address, since sizes are
        signed.
        """
        return (1 << (31 if self.arch == "armv7" else 63)) - 1

    def with_profile(self, profile: Profile) -> Target:
        """The same machine with a binary of `profile`."""
        return replace(self, profile=profile)

    def holds(self, operator: str) -> bool:
        """Whether the binary may contain an operator, by name."""
        return self.profile is None or operator in _operators(self.profile)

    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels that the CPU supports and the binary may contain; ProfileError if the profile
        has no kernel for one of its operators.
        """
        return self._available

    @cached_property
    def _available(self) -> tuple[Kernel, ...]:
        available = (
            _kernels(self.profile, self.arch) if self.profile else kernels.inventory().values()
        )
        return tuple(kernel for kernel in available if kernel.isa in self.isas)

    @cached_property
    def kernel_names(self) -> frozenset[str]:
        """The names of the kernels."""
        return frozenset(kernel.name for kernel in self.kernels())

    @cached_property
    def families(self) -> Mapping[tuple[str, str], tuple[Kernel, ...]]:
        """The kernels by family and dtype."""
        families: dict[tuple[str, str], tuple[Kernel, ...]] = {}
        for kernel in self.kernels():
            key = kernel.family, kernel.dtype
            families[key] = (*families.get(key, ()), kernel)
        return families

    def ranked(self, families: Iterable[str], dtype: str) -> tuple[tuple[Kernel, ...], ...]:
        """The kernels of families and a dtype by the rank of their instruction set, the highest
        first.
        """
        key = *families, dtype
        if key not in self._ranked:
            isas, by_rank = kernels.isas(), dict[int, tuple[Kernel, ...]]()
            for family in key[:-1]:
                for kernel in self.families.get((family, dtype), ()):
                    rank = isas[kernel.isa].rank
                    by_rank[rank] = (*by_rank.get(rank, ()), kernel)
            self._ranked[key] = tuple(by_rank[rank] for rank in sorted(by_rank, reverse=True))
        return self._ranked[key]

    @cached_property
    def _ranked(self) -> dict[tuple[str, ...], tuple[tuple[Kernel, ...], ...]]:
        return {}

    @cached_property
    def bandwidth_core(self) -> Core:
        """The core whose measured memory bandwidth stands for this one's: the generic core of the
        architecture, unless it was measured alone.
        """
        own = self.core.memory
        is_measured = own is not None and not own.is_shared
        return self.core if is_measured else cores.find(cores.GENERIC, self.arch)


@cache
def _operators(profile: Profile) -> frozenset[str]:
    return frozenset(op.name for op in profile.operators())


@cache
def _kernels(profile: Profile, arch: str) -> tuple[Kernel, ...]:
    return tuple(profile.kernels_for(arch))


def runnable_isas(arch: str, features: Iterable[str], core: Core) -> tuple[str, ...]:
    """The rows of isa.toml for `arch` that need only these CPU `features`, lowest rank first.

    Rows that are scheduled for specific cores are included only if `core` is one of them.
    """
    available = set(features)
    return tuple(
        isa.name
        for isa in kernels.isas().values()
        if isa.name == kernels.PORTABLE
        or (
            arch in isa.arch
            and available.issuperset(isa.features)
            and (not isa.cores or core.name in isa.cores)
        )
    )


def _up_to(limit: str, arch: str, isas: tuple[str, ...]) -> tuple[str, ...]:
    rows = {name: isa for name, isa in kernels.isas().items() if arch in isa.arch}
    if limit not in rows:
        raise UsageError(
            f"unknown instruction set {limit!r}",
            where="environment variable TRIMTAB_ISA",
            hint=f"use one of {', '.join(rows)}",
        )
    return tuple(name for name in isas if rows[name].rank <= rows[limit].rank)
