"""The versions and hashes that ./inv installs: `requirements.lock` for every task, and
`requirements-dev.lock`, with the same versions and more packages, for developers' tasks.
"""

from __future__ import annotations

import sys
import tempfile

from invoke.exceptions import Exit

from lab.dev import shell

LOCK = "requirements.lock"
DEVELOPERS_LOCK = "requirements-dev.lock"
# Interpreters and machines for which every locked package must have a wheel.
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
_OLDEST_GLIBC, _NEWEST_GLIBC = 17, 28


def renew(upgrade: bool) -> None:
    """Resolves pyproject.toml into the locks, then checks that pip can install them everywhere.

    Invoke's Exit, with the program's code, when a version or a wheel is missing.
    """
    resolve(DEVELOPERS_LOCK, "--extra=dev", "--extra=editable", *(["--upgrade"] if upgrade else []))
    resolve(LOCK, "--extra=editable", f"--constraint={DEVELOPERS_LOCK}")
    # pip honors metadata that uv ignores, such as the newest supported Python.
    pip = [
        sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps",
        "--ignore-installed", "--only-binary=:all:", "--require-hashes",
        f"--requirement={DEVELOPERS_LOCK}",
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


def resolve(lock: str, *options: str) -> None:
    """Writes a lock with uv; Invoke's Exit, with uv's code, if it finds no versions."""
    argv = [
        shell.tool("uv"), "pip", "compile", "--quiet", "--universal",
        f"--python-version={PYTHONS[0]}", "--generate-hashes",
        "--custom-compile-command=./inv lock", f"--output-file={lock}", *options, "pyproject.toml",
    ]  # fmt: skip
    if code := shell.run(argv):
        raise Exit("lock: uv found no set of versions, see above", code=code)
