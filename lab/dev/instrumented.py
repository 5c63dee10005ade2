"""Builds of the engine by the system's clang with what it can add: the sanitizers, the feedback
that steers fuzzing, and counts of what was reached. zig carries none of the run-time libraries.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from invoke.exceptions import Exit

from lab.dev import shell
from trimtab import files, paths, plugins

# The flags of each kind of build, one tree for each. The fuzz targets are built with the checks of
# memory and of undefined behavior, so that what runs under these needs no second build.
KINDS = {
    "address": ["-DTRIMTAB_SANITIZE=fuzzer-no-link,address,undefined", "-DTRIMTAB_FUZZ=ON"],
    "thread": ["-DTRIMTAB_SANITIZE=thread"],
    "coverage": ["-DCMAKE_CXX_FLAGS=-fprofile-instr-generate -fcoverage-mapping"],
}
REMEDY = "sudo apt-get install clang llvm libclang-rt-dev"


def build(kind: str, *targets: str, profile: Path | None = None) -> Path:
    """Builds targets of CMakeLists.txt with every operator and kernel, those of plug-ins too, or in
    a tree of its own with those of a profile's file; returns the build tree.

    Raises MissingRequirementError without clang, and Exit when it fails.
    """
    root, tree = shell.ROOT, paths.cache() / "instrumented" / kind
    if profile:
        tree = tree.with_name(f"{kind}-{profile.stem}")
    configure = [
        shell.tool("cmake"), "-S", str(root), "-B", str(tree), "-G", "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={shell.tool('ninja')}",
        f"-DCMAKE_CXX_COMPILER={shell.tool('clang++', REMEDY)}",
        f"-DCMAKE_C_COMPILER={shell.tool('clang', REMEDY)}",
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DPython3_EXECUTABLE={sys.executable}",
        f"-DTRIMTAB_PLUGINS={';'.join(str(plugin.folder) for plugin in plugins.for_engine())}",
        f"-DTRIMTAB_PROFILE={profile or 'full'}", "-DTRIMTAB_PYTHON=ON", "-DTRIMTAB_TOOLS=ON",
        "-DTRIMTAB_OPTIMIZE=-O1", "-DTRIMTAB_OPTIMIZE_KERNELS=-O1", *KINDS[kind],
    ]  # fmt: skip
    with files.locked(tree / ".lock"):
        for argv in (configure, [shell.tool("cmake"), "--build", str(tree), "--target", *targets]):
            # Hundreds of lines, which matter when something fails.
            done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)
            if done.returncode:
                print(done.stdout[-4000:], done.stderr[-4000:], flush=True)
                raise Exit(f"the {kind} build failed ({REMEDY})", code=done.returncode)
    return tree


def version() -> str:
    """Of the clang that builds."""
    argv = [shell.tool("clang", REMEDY), "-dumpversion"]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()


def preloaded() -> dict[str, str]:
    """The environment in which Python can load the engine of the build `address`.

    Python itself is not instrumented, so the sanitizer has to be there before it starts, with the
    C++ library whose exceptions it watches; what the interpreter leaves allocated is not ours.
    """
    libraries = []
    for name in (f"libclang_rt.asan-{os.uname().machine}.so", "libstdc++.so.6"):
        argv = [shell.tool("clang", REMEDY), f"-print-file-name={name}"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        libraries.append(done.stdout.strip())
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",
    }
