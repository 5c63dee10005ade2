"""The versions and hashes that ./inv installs."""

from __future__ import annotations

from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task

LOCK = "requirements.lock"
# What the lock promises to serve, with wheels alone.
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
_OLDEST_GLIBC, _NEWEST_GLIBC = 17, 28


@task(help={"upgrade": "to the newest versions that pyproject.toml allows"})
def lock(_: Context, upgrade: bool = False) -> None:
    """Renew requirements.lock from pyproject.toml; versions stay where they still fit."""
    import sys
    import tempfile

    from trimtab.cli import _shell

    argv = [
        _shell.tool("uv"), "pip", "compile", "--quiet", "--universal",
        f"--python-version={PYTHONS[0]}", "--generate-hashes", "--extra=dev",
        "--custom-compile-command=./inv lock", f"--output-file={LOCK}", "pyproject.toml",
    ]  # fmt: skip
    if code := _shell.run([*argv, "--upgrade"] if upgrade else argv):
        raise Exit("lock: uv found no set of versions, see above", code=code)
    # pip installs them, and heeds more of what packages say than uv does.
    pip = [
        sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps",
        "--ignore-installed", "--only-binary=:all:", "--require-hashes", f"--requirement={LOCK}",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for python in PYTHONS:
            for machine in MACHINES:
                glibcs = range(_OLDEST_GLIBC, _NEWEST_GLIBC + 1)
                tags = [f"manylinux2014_{machine}", *(f"manylinux_2_{n}_{machine}" for n in glibcs)]
                place = [f"--target={folder}", f"--python-version={python}"]
                if code := _shell.run([*pip, *place, *(f"--platform={tag}" for tag in tags)]):
                    raise Exit(f"lock: Python {python} on {machine} lacks a wheel", code=code)
                print(f"Python {python} on {machine}: every wheel is there", flush=True)
