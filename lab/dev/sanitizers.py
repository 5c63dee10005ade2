"""What runs under the sanitizers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from lab.dev import instrumented, shell
from trimtab import files, paths

THREADS = (1, 2, 3, 4)
_EVERY = 24  # of the operator tests, in the small form
_SMALL_NETWORK = "yolo_fastest"
_TIMEOUT_S = 3600  # of one network with one number of threads
# More threads add up in another order; a race that matters shows in whole blocks.
_TOLERANCE = 1e-3


def memory(small: bool, keyword: str, jobs: int) -> list[str]:
    """The kernels' own checks and the tests of the engine with AddressSanitizer and UBSan; what
    failed.
    """
    tree = instrumented.build("address", "_engine", "check_kernels", "check_core")
    failed = [
        program
        for program in ("check_kernels", "check_core")
        if not keyword and shell.run([str(tree / program)])
    ]
    argv = [sys.executable, "-m", "pytest", "-q", f"--engine={tree}", "-n", str(jobs)]
    argv += ["-m", "not build and not device"]  # those compile binaries of their own
    if small:
        argv.append(f"--every={_EVERY}")
    argv += ["tests/ops", *(() if small else ("tests/engine", "tests/unit"))]
    if keyword:
        argv += ["-k", keyword]
    if shell.run(argv, instrumented.preloaded()):
        failed.append("tests under AddressSanitizer and UBSan")
    return failed


def threads(small: bool) -> list[str]:
    """The thread pool and whole networks with 1 to 4 threads under ThreadSanitizer; what failed."""
    import trimtab
    from trimtab import zoo

    programs = ("check_thread_pool", "trimtab-run")
    with tempfile.TemporaryDirectory() as folder:
        if small:
            names: tuple[str, ...] = (_SMALL_NETWORK,)
            network = trimtab.load(zoo.write(_SMALL_NETWORK, folder))
            profile = paths.cache() / "instrumented" / f"{_SMALL_NETWORK}.toml"
            files.write_if_changed(profile, trimtab.profile_of(network).to_toml())
            tree = instrumented.build("thread", *programs, profile=profile)
        else:
            names = zoo.names()
            tree = instrumented.build("thread", *programs)
        failed = []
        if shell.run([str(tree / "check_thread_pool")]):
            failed.append("check_thread_pool")
        for name in names:
            failed += _network(tree / "trimtab-run", name, Path(folder))
    return failed


def _network(runner: Path, name: str, folder: Path) -> list[str]:
    """One network of the zoo with each number of threads; what failed."""
    import trimtab
    from trimtab import zoo
    from trimtab.bench.runner import Command
    from trimtab.target import Target

    program = trimtab.load(zoo.write(name, folder))
    inputs = zoo.sample_input(name)
    session = trimtab.Session(program)
    wanted = session.run(inputs)[session.output_names[0]]
    data = folder / "in0.bin"
    files.write_bytes(data, np.asarray(next(iter(inputs.values())), order="C").tobytes())
    model = folder / f"{name}.ttm"
    trimtab.optimize(program, Target.host()).save(model)
    failed = []
    for count in THREADS:
        command = Command(
            str(runner), str(model), [str(data)], output_dir=str(folder), threads=count
        )
        done = subprocess.run(
            command.argv(), capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
        what = f"{name} with {count} threads"
        outcome = f"stopped with {done.returncode}: {done.stderr[-4000:]}{done.stdout[-300:]}"
        if not done.returncode:
            found = np.fromfile(folder / "out0.bin", wanted.dtype).reshape(wanted.shape)
            error = float(np.abs(found - wanted).max() / np.abs(wanted).max())
            outcome = "ok" if error < _TOLERANCE else f"off by {error:.2g} of its largest output"
        print(f"{what}: {outcome}", flush=True)
        if outcome != "ok":
            failed.append(what)
    return failed
