"""Builds and runs the fuzz targets: libFuzzer's for the engine, Hypothesis' for files that Python
reads.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from invoke.exceptions import Exit

from lab.dev import instrumented, shell
from trimtab import files, paths, plugins

_TIMEOUT_S = 20  # per input
_MEMORY_MB = 2048  # memory
# Address space of a process that reads damaged files; libraries use most of it.
_ADDRESS_BYTES = 8 << 30
_MINIMIZE_S = 60
_SHOWN_LINES = 60  # of a failed target


def of_engine() -> list[str]:
    """The names of the targets that are programs of the engine."""
    paths = (shell.ROOT / "tests" / "fuzz").glob("fuzz_*.cpp")
    return sorted(path.stem.removeprefix("fuzz_") for path in paths)


def of_files() -> dict[str, str]:
    """The tests that damage files which Python reads, by the names of their targets."""
    tests = sorted((shell.ROOT / "tests").rglob("test_*_damaged.py"))
    return {path.stem.removeprefix("test_").removesuffix("_damaged"): str(path) for path in tests}


def targets() -> list[str]:
    """The names of all targets; with plug-ins, of those that run their operators."""
    return of_engine() if plugins.for_engine() else [*of_engine(), *of_files()]


def crashes() -> Path:
    """The folder for crashing inputs; that of the first plug-in, if there is one."""
    own = plugins.for_engine()
    return own[0].folder / "tests" / "found" if own else shell.ROOT / "tests/fuzz/found"


def search(names: Sequence[str], seconds: int, jobs: int) -> list[str]:
    """Fuzzes each target for that many seconds, `jobs` at once; returns the failed targets."""
    if any(name in of_engine() for name in names):
        _programs(), seeds()  # once, before targets run side by side
    at_once = min(jobs, len(names))
    print(f"fuzz {', '.join(names)}: {seconds} s each, {at_once} at once", flush=True)
    with ThreadPoolExecutor(at_once) as pool:
        well = list(pool.map(lambda name: _search(name, seconds, jobs // at_once), names))
    return [name for name, is_well in zip(names, well, strict=True) if not is_well]


def _search(target: str, seconds: int, jobs: int) -> bool:
    """Fuzzes one target; returns whether no input failed."""
    if target not in of_engine():
        return _search_files(target, seconds)
    program, corpus = str(_programs() / f"fuzz_{target}"), _folder() / "corpus" / target
    artefacts = crashes() / target
    for folder in (corpus, artefacts):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(artefacts.iterdir())
    limits = [f"-timeout={_TIMEOUT_S}", f"-rss_limit_mb={_MEMORY_MB}", "-max_len=65536"]
    limits.append(f"-report_slow_units={_TIMEOUT_S}")
    argv = [
        program, *limits, f"-max_total_time={seconds}", f"-fork={jobs}",
        f"-artifact_prefix={artefacts}/", str(corpus), str(seeds_of(target)),
    ]  # fmt: skip
    code, last_lines = _follow(target, argv)
    broken = [
        path
        for path in sorted(set(artefacts.iterdir()) - before)
        if _is_broken(program, path, limits)
    ]
    for path in broken:
        _minimize(program, path, limits)
        print(f"failing input: {path}", flush=True)
    if not any(artefacts.iterdir()):
        artefacts.rmdir()
    if code:
        print("\n".join(last_lines), flush=True)
    return code == 0 and not broken


def _is_broken(program: str, path: Path, limits: list[str]) -> bool:
    """Whether an input that stopped the target is a failure.

    A slow input may be due to a busy machine: it runs again alone, and is removed if it ends in
    time.
    """
    late = path.name.startswith(("timeout-", "slow-unit-"))
    if late and _ends_well(program, path, limits):
        print(f"{path.name}: slow, but not when run alone", flush=True)
        path.unlink()
        return False
    return True


def _ends_well(program: str, path: Path, limits: list[str]) -> bool:
    argv = [program, *limits, str(path)]
    return not subprocess.run(argv, env=_environment(), capture_output=True, check=False).returncode


def _follow(target: str, argv: Sequence[str]) -> tuple[int, list[str]]:
    """Runs a target and prints its progress; returns its exit code and last lines."""
    last: deque[str] = deque(maxlen=_SHOWN_LINES)
    has_run = False
    with subprocess.Popen(
        argv, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace",
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            last.append(line.rstrip())
            if re.match(r"#[1-9].*exec/s", line):
                has_run = True
                print(f"{target}: {last[-1]}", flush=True)
    if not has_run:
        last.append("no input was run")
    return process.returncode or int(not has_run), list(last)


def _environment() -> dict[str, str]:
    # The engine, not the sanitizer, refuses models that need too much memory.
    return {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1"}


def _minimize(program: str, path: Path, limits: list[str]) -> None:
    small = path.with_name(path.name + ".small")
    argv = [
        program, *limits, "-minimize_crash=1", f"-max_total_time={_MINIMIZE_S}",
        f"-exact_artifact_path={small}", str(path),
    ]  # fmt: skip
    subprocess.run(argv, env=_environment(), capture_output=True, check=False)
    # The minimization may have been stopped while writing.
    if small.exists() and not _ends_well(program, small, limits):
        small.replace(path)
    small.unlink(missing_ok=True)


def _folder() -> Path:
    """The folder of persistent data; each set of plug-ins has its own."""
    return paths.cache() / "fuzz" / "-".join(["engine", *(p.name for p in plugins.for_engine())])


@cache
def _programs() -> Path:
    """A folder with copies of the targets, which a rebuild does not replace while they run."""
    names = [f"fuzz_{name}" for name in of_engine()]
    tree = instrumented.build("address", *names)
    for name in names:
        files.copy_if_changed(tree / name, _folder() / name)
    return _folder()


@cache
def seeds() -> Path:
    """The folder of seed inputs, with a folder for each kind."""
    folder = _folder() / "seeds"
    shutil.rmtree(folder, ignore_errors=True)
    plugin_path = os.pathsep.join(str(plugin.folder) for plugin in plugins.active())
    argv = [sys.executable, "-m", "tests.fuzz.seeds", str(folder)]
    if code := shell.run(argv, {**os.environ, "TRIMTAB_PLUGIN_PATH": plugin_path}):
        raise Exit("fuzz: cannot create the seeds", code=code)
    return folder


def seeds_of(target: str) -> Path:
    """The seed inputs of a target: those in the folder of its name, or all others."""
    own = seeds() / target
    return own if own.is_dir() else seeds() / "operators"


def _search_files(target: str, seconds: int) -> bool:
    """Runs the tests that damage files, with another seed each time."""
    print(f"fuzz {target}: {seconds} s", flush=True)
    end, seed = time.monotonic() + seconds, int(time.time())
    argv = [shell.tool("prlimit", "sudo apt-get install util-linux"), f"--as={_ADDRESS_BYTES}"]
    argv += [sys.executable, "-m", "pytest", "-q", "-x", "--hypothesis-profile=search"]
    argv += [f"--found={crashes() / target}", of_files()[target]]
    rounds = 0
    while rounds == 0 or time.monotonic() < end:
        rounds += 1
        if shell.run([*argv, f"--hypothesis-seed={seed + rounds}"]):
            return False
    print(f"{target}: {rounds} rounds of all files", flush=True)
    return True
