"""Builds the engine with the system's clang and its instrumentation: sanitizers, fuzzing feedback,
coverage counters. zig does not include their run-time libraries.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from invoke.exceptions import Exit

from lab.dev import shell
from trimtab import files, paths, plugins

# Flags of each kind of build; each kind has its own tree. The fuzz targets share the tree of
# AddressSanitizer and UBSan.
KINDS = {
    "address": ["-DTRIMTAB_SANITIZE=fuzzer-no-link,address,undefined", "-DTRIMTAB_FUZZ=ON"],
    "thread": ["-DTRIMTAB_SANITIZE=thread", "-DCMAKE_CXX_FLAGS=-DTRIMTAB_BLOCK_COST=1"],
    "coverage": ["-DCMAKE_CXX_FLAGS=-fprofile-instr-generate -fcoverage-mapping"],
}
REMEDY = "sudo apt-get install clang llvm libclang-rt-dev"


def build(kind: str, *targets: str, profile: Path | None = None) -> Path:
    """Builds targets of CMakeLists.txt with all operators and kernels, plug-ins included, or, in
    another tree, with those of a profile's file. Returns the build tree.

    MissingRequirementError without clang; Exit when the build fails.
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
            # The output matters only when the build fails.
            done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)
            if done.returncode:
                print(done.stdout[-4000:], done.stderr[-4000:], flush=True)
                raise Exit(f"the {kind} build failed ({REMEDY})", code=done.returncode)
    return tree


def version() -> str:
    """The version of clang."""
    argv = [shell.tool("clang", REMEDY), "-dumpversion"]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()


def preloaded() -> dict[str, str]:
    """The environment in which Python can load the engine of the build `address`.

    Python is not instrumented, so the sanitizer and the C++ library it intercepts are preloaded.
    Leaks of the interpreter are ignored.
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
