"""The facts of a toolchain that decide its machine code: the version of the compiler, the flags."""

from __future__ import annotations

import subprocess
from importlib import metadata

from trimtab.build import toolchain
from trimtab.build.toolchain import Toolchain
from trimtab.errors import ToolchainError


def version(chosen: Toolchain) -> str:
    """Name and version of the compiler; another text after an upgrade in the same place.

    ToolchainError if it is not installed.
    """
    toolchain.require(chosen)
    if chosen.compiler == "zig":
        return f"zig {metadata.version('ziglang')}"
    if chosen.compiler == "ndk":
        properties = toolchain.ndk_folder(chosen) / "source.properties"
        return properties.read_text(encoding="utf-8") if properties.is_file() else "ndk"
    _, program = toolchain.gcc_drivers(chosen)
    try:
        printed = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise ToolchainError(
            f"the compiler does not start: {error.strerror}",
            where=program,
            hint="install it again, or check TRIMTAB_HOST_CXX and CXX",
        ) from error
    return printed.stdout.partition("\n")[0].strip()


def facts(chosen: Toolchain, cpu: str | None = None) -> tuple[object, ...]:
    """Everything of a toolchain and a core, besides the compiler's version, that decides what is
    compiled. The compiler need not be installed.
    """
    machine = chosen.compiler, chosen.system, chosen.arch, chosen.target, chosen.ndk
    return *machine, chosen.flags, chosen.core_options(chosen.core(cpu))
