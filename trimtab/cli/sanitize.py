"""The engine under the compiler's sanitizers."""

from __future__ import annotations

from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task


@task(help={"keyword": "only operator tests whose name matches this pytest expression"})
def sanitize(_: Context, keyword: str = "") -> None:
    """Run the engine's tests under AddressSanitizer and UBSan, its threads under TSan."""
    import os
    import subprocess
    import sys

    from trimtab import paths
    from trimtab.cli import _shell

    root = _shell.checkout()
    # zig carries no runtime for AddressSanitizer, so the system's compiler builds this.
    compiler = _shell.tool("g++", "sudo apt-get install g++")

    def build(kind: str, *targets: str) -> str:
        folder = str(paths.cache() / "sanitize" / kind.split(",", maxsplit=1)[0])
        configure = [
            _shell.tool("cmake"), "-S", str(root), "-B", folder, "-G", "Ninja",
            f"-DCMAKE_MAKE_PROGRAM={_shell.tool('ninja')}",
            f"-DCMAKE_CXX_COMPILER={compiler}",
            f"-DCMAKE_C_COMPILER={_shell.tool('gcc', 'sudo apt-get install gcc')}",
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-DPython3_EXECUTABLE={sys.executable}",
            "-DTRIMTAB_PROFILE=full", "-DTRIMTAB_PYTHON=ON", "-DTRIMTAB_TOOLS=ON",
            "-DTRIMTAB_OPTIMISE=-O1", f"-DTRIMTAB_SANITIZE={kind}",
        ]  # fmt: skip
        for argv in (configure, [_shell.tool("cmake"), "--build", folder, "--target", *targets]):
            if code := _shell.run(argv):
                raise Exit(f"sanitize: the {kind} build failed", code=code)
        return folder

    threads = build("thread", "check_thread_pool")
    failed = _shell.run([f"{threads}/check_thread_pool"])

    address = build("address,undefined", "_engine", "check_kernels")
    failed |= _shell.run([f"{address}/check_kernels"])
    # Python itself is not instrumented, so the sanitizer has to be there before it starts, with the
    # C++ library whose exceptions it watches; what the interpreter leaves allocated is not ours.
    preload = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False
        ).stdout.strip()
        for name in ("libasan.so", "libstdc++.so.6")
    ]
    environment = {
        **os.environ,
        "LD_PRELOAD": " ".join(preload),
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    argv = [sys.executable, "-m", "pytest", "-q", f"--engine={address}"]
    argv += ["tests/ops", "tests/engine", "tests/unit"]
    failed |= _shell.run([*argv, "-k", keyword] if keyword else argv, environment)
    if failed:
        raise Exit("sanitize: failed, see above")
