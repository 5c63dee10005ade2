"""The C++ sources, and clang-tidy over them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab.dev import shell

FOLDERS = ("runtime", "kernels", "bindings", "tests/core", "tests/devices", "tests/kernels")
SUFFIXES = {".c", ".cpp", ".h"}


def sources() -> list[str]:
    """All C and C++ files, relative to the checkout's root."""
    return [
        str(path.relative_to(shell.ROOT))
        for folder in FOLDERS
        for path in sorted((shell.ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES
    ]


def tidy(deep: bool) -> int:
    """Runs clang-tidy over the sources compiled for this machine; returns 0 when it finds nothing.

    `deep`: its analyzer follows all calls and paths.
    """
    from trimtab import system
    from trimtab.build import builder, host_build
    from trimtab.cli._progress import shown

    tree = host_build.build([host_build.CONFIGURED], "configure", shown())
    commands = json.loads((tree / "compile_commands.json").read_text())
    compiled = {command["file"] for command in commands}
    written = {file for file in compiled if file.startswith(f"{tree / builder.SOURCE}/")}
    files = sorted(written | _generated_kernels(tree, compiled))
    arguments = [shell.tool("clang-tidy"), "--quiet", f"-p={tree}"]
    arguments += [
        f"--extra-arg={flag}" for flag in _zig_library(Path(shlex.split(commands[0]["command"])[0]))
    ]

    if not deep:
        shallow = ("-Xclang", "-analyzer-config", "-Xclang", "mode=shallow")
        arguments += [f"--extra-arg={flag}" for flag in shallow]

    def check(file: str) -> tuple[int, str]:
        done = subprocess.run(
            [*arguments, file], cwd=shell.ROOT, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    code, messages = 0, []
    workers = system.usable_cpus()
    with shown().step("clang-tidy", "files") as step, ThreadPoolExecutor(workers) as pool:
        for done, (failed, text) in enumerate(pool.map(check, files), 1):
            code |= failed
            messages.append(text.strip())
            step.update(done, len(files))
    print("\n".join(filter(None, messages)), end="\n" * any(messages))
    return code


def _generated_kernels(tree: Path, compiled: set[str]) -> set[str]:
    """One generated kernel per family and instruction set: the others instantiate the same two
    headers. All other generated sources are tables.
    """
    from trimtab import kernels

    one = {}
    for kernel in kernels.inventory().values():
        if kernel.template and (file := str(tree / kernel.path)) in compiled:
            one[kernel.template.vectors, kernel.template.header] = file
    return set(one.values())


def _zig_library(compiler: Path) -> list[str]:
    """Flags that give clang-tidy zig's C and C++ headers; it has its own compiler headers."""
    probe = subprocess.run(
        [compiler, "-dM", "-E", "-v", "-x", "c++", os.devnull],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    listed = probe.stderr.partition("search starts here:\n#include <...> search starts here:\n")[2]
    lines = listed.partition("End of search list")[0].splitlines()
    # zig prints paths relative to its working directory.
    folders = [str(Path(line.strip()).absolute()) for line in lines]
    # zig configures its C++ library by macros on the command line, not by a generated header.
    macros = re.findall(r"#define (_LIBC\w+|__GLIBC_MINOR__) (.*)", probe.stdout)
    return [
        "-nostdlibinc",
        "-nostdinc++",
        *(f"-isystem{folder}" for folder in folders if not folder.endswith("ziglang/lib/include")),
        *(f"-D{name}={value}" for name, value in macros),
    ]
