"""The C++ sources for the tasks that check and format them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from trimtab import paths
from trimtab.cli import _shell
from trimtab.errors import BuildError

FOLDERS = ("runtime", "kernels", "bindings", "tests/core", "tests/device", "tests/kernels")
SUFFIXES = {".c", ".cpp", ".h"}


def sources(root: Path) -> list[str]:
    """All C and C++ files, relative to `root`."""
    return [
        str(path.relative_to(root))
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in SUFFIXES
    ]


def tidy(root: Path) -> int:
    """Runs clang-tidy over what is compiled for this machine; 0 when it has nothing to say."""
    from trimtab.build import builder, toolchain
    from trimtab.workflow.progress import shown

    tree = paths.cache() / "build" / "tidy"
    cmake_file = toolchain.cmake_file(toolchain.find_toolchain("host"))
    options = {
        "TRIMTAB_PYTHON": "ON",
        "TRIMTAB_TOOLS": "ON",
        "TRIMTAB_PROFILE": "full",
        "Python_EXECUTABLE": sys.executable,
    }
    # Configuring is enough: it generates the headers and the list of commands.
    configured = subprocess.run(
        builder.configure_command(tree, cmake_file, "Release", options),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if configured.returncode:
        raise BuildError(configured.stderr.strip(), where="configuring for clang-tidy")
    commands = json.loads((tree / "compile_commands.json").read_text())
    written = f"{tree}/generated/kernels/"  # what else is generated are tables
    files = sorted(
        {f for c in commands if (f := c["file"]).startswith(written) or not f.startswith(str(tree))}
    )
    arguments = [_shell.tool("clang-tidy"), "--quiet", f"-p={tree}"]
    arguments += [
        f"--extra-arg={flag}" for flag in _zig_library(Path(commands[0]["command"].split()[0]))
    ]

    def check(file: str) -> tuple[int, str]:
        done = subprocess.run(
            [*arguments, file], cwd=root, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    code, said = 0, []
    with shown().step("clang-tidy", "files") as step, ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (failed, text) in enumerate(pool.map(check, files), 1):
            code |= failed
            said.append(text.strip())
            step.update(done, len(files))
    print("\n".join(filter(None, said)), end="\n" * any(said))
    return code


def _zig_library(compiler: Path) -> list[str]:
    """Flags that give clang-tidy zig's C and C++ libraries; the compiler's own it has itself."""
    probe = subprocess.run(
        [compiler, "-dM", "-E", "-v", "-x", "c++", os.devnull],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    listed = probe.stderr.partition("search starts here:\n#include <...> search starts here:\n")[2]
    lines = listed.partition("End of search list")[0].splitlines()
    # zig prints paths relative to where it was called.
    folders = [str(Path(line.strip()).absolute()) for line in lines]
    # It configures its libraries on the command line, where others have a generated header.
    macros = re.findall(r"#define (_LIBC\w+|__GLIBC_MINOR__) (.*)", probe.stdout)
    return [
        "-nostdlibinc",
        "-nostdinc++",
        *(f"-isystem{folder}" for folder in folders if not folder.endswith("ziglang/lib/include")),
        *(f"-D{name}={value}" for name, value in macros),
    ]
