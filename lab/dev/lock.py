"""The versions and hashes that ./inv installs: `requirements.lock`."""

from __future__ import annotations

import sys
import tempfile

from invoke.exceptions import Exit

from lab.dev import shell

LOCK = "requirements.lock"
# Interpreters and machines for which every locked package must have a wheel.
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
_OLDEST_GLIBC, _NEWEST_GLIBC = 17, 28


def renew(upgrade: bool) -> None:
    """Resolves pyproject.toml into the lock, then checks that pip can install it everywhere.

    Invoke's Exit, with the program's code, when a version or a wheel is missing.
    """
    argv = [
        shell.tool("uv"), "pip", "compile", "--quiet", "--universal",
        f"--python-version={PYTHONS[0]}", "--generate-hashes", "--extra=dev",
        "--custom-compile-command=./inv lock", f"--output-file={LOCK}", "pyproject.toml",
    ]  # fmt: skip
    if code := shell.run([*argv, "--upgrade"] if upgrade else argv):
        raise Exit("lock: uv found no set of versions, see above", code=code)
    # pip honors metadata that uv ignores, such as the newest supported Python.
    pip = [
        sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps",
        "--ignore-installed", "--only-binary=:all:", "--require-hashes", f"--requirement={LOCK}",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for python in PYTHONS:
            for machine in MACHINES:
                glibcs = range(_OLDEST_GLIBC, _NEWEST_GLIBC + 1)
                tags = [f"manylinux2014_{machine}", *(f"manylinux_2_{n}_{machine}" for n in glibcs)]
                target = [f"--target={folder}", f"--python-version={python}"]
                if code := shell.run([*pip, *target, *(f"--platform={tag}" for tag in tags)]):
                    raise Exit(f"lock: Python {python} on {machine} lacks a wheel", code=code)
                print(f"Python {python} on {machine}: every wheel exists", flush=True)
