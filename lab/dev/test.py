"""The test suite."""

from __future__ import annotations

from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task

from trimtab.cli._engine import needs_engine


@task(
    name="test",
    help={
        "full": "also the slow tests",
        "fast": "only what needs neither a cross compiler nor an emulator nor a device",
        "device": "only the operator vectors and networks, on this device (see `devices`)",
        "keyword": "only tests whose name matches this pytest expression",
        "path": "only this test file or folder",
        "jobs": "processes that run tests at once; default: as many as cores, one for chosen tests",
    },
)
@needs_engine
def run_tests(
    _: Context,
    full: bool = False,
    fast: bool = False,
    device: str = "",
    keyword: str = "",
    path: str = "",
    jobs: int = 0,
) -> None:
    """Build the engine for this machine and run the tests."""
    import os
    import sys

    from trimtab.cli import _shell

    argv = [sys.executable, "-m", "pytest"]
    if full:
        argv.append("--full")
    if fast:
        argv += ["-m", "not build and not device and not slow"]
    if device:
        argv.append(f"--device={device}")
        # The rest of the suite is about this machine.
        path = path or "tests/ops/test_on_device.py"
    if keyword:
        argv += ["-k", keyword]
    if not jobs:
        jobs = 1 if path or keyword else os.cpu_count() or 1
    if jobs > 1:
        # A file's tests share what they build. Files are begun in the order of tests/conftest.py.
        argv += ["-n", str(jobs), "--dist=loadfile", "--no-loadscope-reorder"]
    if path:
        argv.append(path)
    if code := _shell.run(argv):
        raise Exit(code=code)


@task
@needs_engine
def engine(_: Context) -> None:
    """Build the Python engine of this checkout, or what has changed of it."""
