"""Facts for keys: the compiler and the flags of a toolchain."""

from __future__ import annotations

from trimtab.build.toolchain import Toolchain, compiler_identity
from trimtab.errors import ToolchainError


def facts(chosen: Toolchain, cpu: str | None = None) -> tuple[object, ...]:
    """The compiler with its version, "" if only other machines of a cluster have it, and the flags
    of a toolchain and a core: what is compiled changes only if these do.
    """
    try:
        identity = compiler_identity(chosen)
    except ToolchainError:
        identity = ""
    machine = identity, chosen.compiler, chosen.system, chosen.arch, chosen.target, chosen.ndk
    return *machine, chosen.flags, chosen.core_options(chosen.core(cpu))
