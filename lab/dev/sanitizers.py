"""Runs tests and networks under the sanitizers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from lab.dev import instrumented, shell
from trimtab import files, paths

THREADS = (1, 2, 3, 4)
_EVERY = 24  # operator tests, in the small selection, which has all tests of bounds
_SMALL_NETWORK = "yolo_fastest"
# Tests that hardly run the engine in this process.
_OTHER_TESTS = (
    *("browser", "build", "core", "devices", "examples", "fuzz", "importers", "kernels", "lab"),
    *("plugins", "zoo"),
)
# Fuzz targets whose seeds threads compute, and the folders of these.
_REPLAYED = {"run": "operators"} | {name: name for name in ("networks", "images", "training")}
_TIMEOUT_S = 3600  # per network and number of threads
# Threads change the order of summation; a race that matters corrupts whole blocks.
_TOLERANCE = 1e-3


def memory(small: bool, keyword: str, jobs: int) -> list[str]:
    """Runs the kernel checks and the engine's tests under AddressSanitizer and UBSan; returns the
    failures.
    """
    programs: tuple[str, ...] = () if keyword else ("check_kernels", "check_core")
    tree = instrumented.build("address", "_engine", *programs)
    argv = [sys.executable, "-m", "pytest", "-q", f"--engine={tree}", "-n", str(jobs)]
    argv += ["-m", "not build and not device"]  # those tests compile their own binaries
    if small:
        argv += [f"--every={_EVERY}", "tests/ops", "tests/engine/test_resized_to_nothing.py"]
    else:
        argv += ["tests", *(f"--ignore=tests/{folder}" for folder in _OTHER_TESTS)]
    if keyword:
        argv += ["-k", keyword]
    failed = []
    with ThreadPoolExecutor(1) as pool:  # they use one core each
        checks = pool.map(shell.output, [[str(tree / program)] for program in programs])
        if shell.run(argv, instrumented.preloaded()):
            failed.append("tests under AddressSanitizer and UBSan")
        for program, (code, text) in zip(programs, checks, strict=True):
            print(text, end="", flush=True)
            failed += [program] * bool(code)
    return failed


def threads(small: bool) -> list[str]:
    """Runs the thread pool and networks under ThreadSanitizer, and, unless `small`, every operator;
    returns the failures. Threads share even the smallest loops.
    """
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
            tree = instrumented.build("thread", *programs, *map("replay_{}".format, _REPLAYED))
        failed = [] if small else _replays(tree, Path(folder) / "seeds")
        if shell.run([str(tree / "check_thread_pool")]):
            failed.append("check_thread_pool")
        for name in names:
            failed += _network(tree / "trimtab-run", name, Path(folder))
    return failed


def _replays(tree: Path, folder: Path) -> list[str]:
    """Runs the seeds of fuzz targets: all operators, with one to three threads, networks of several
    precisions, cameras, and training steps. Returns the failures.
    """
    if shell.run([sys.executable, "-m", "tests.fuzz.seeds", str(folder)]):
        return ["the seeds of the fuzz targets"]
    failed = []
    for target, seeds in _REPLAYED.items():
        code, text = shell.output([str(tree / f"replay_{target}"), str(folder / seeds)])
        print(f"{target}: {text[-4000:] if code else text.splitlines()[-1]}", flush=True)
        failed += [f"the seeds of {target}"] * bool(code)
    return failed


def _network(runner: Path, name: str, folder: Path) -> list[str]:
    """Runs a network of the zoo with each number of threads; returns the failures."""
    import trimtab
    from trimtab import zoo
    from trimtab.bench.runner import Command
    from trimtab.target import Target

    program = trimtab.load(zoo.write(name, folder))
    inputs = zoo.sample_input(name)
    session = trimtab.Session(program)
    expected = session.run(inputs)[session.output_names[0]]
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
            output = np.fromfile(folder / "out0.bin", expected.dtype).reshape(expected.shape)
            error = float(np.abs(output - expected).max() / np.abs(expected).max())
            outcome = (
                "ok"
                if error < _TOLERANCE
                else f"error of {error:.2g}, relative to the largest output"
            )
        print(f"{what}: {outcome}", flush=True)
        if outcome != "ok":
            failed.append(what)
    return failed
