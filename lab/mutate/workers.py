"""Copies of the checkout in which mutants are planted, so that the user's own never changes.

A copy has a Python environment of its own: that of the checkout imports the checkout's package,
which an editable installation puts before everything else.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.dev import shell
from lab.mutate.mutants import Mutant
from trimtab import files, paths
from trimtab.errors import BuildError

# The values of a parametrized test may have blanks in its name: [timeout-timeout is nan].
_FAILURE = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+(?:\[.*?\](?= - |$))?)", re.M)
# Verbose output names each test before it runs, and adds how it ended.
_TEST = re.compile(r"^([^\s\[]+\.py::[^\s\[]+(?:\[.*?\](?= $| [A-Z]))?) (.*)", re.M)
_ENDED = ("PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS")
_SANITIZER = re.compile(r"^SUMMARY: (\w+Sanitizer: [\w-]+)", re.M)  # ends the process
TIMEOUT = "timeout"
CHECKS = ("check_core", "check_counters", "check_row_driver", "check_shares", "check_thread_pool")
"""The check programs of the engine's core."""
ENGINE, RUNNER = "_engine", "trimtab-run"
"""The engine as tests in Python load it, and the program for devices."""
_CONFIGURE = "from lab.dev import instrumented as i; i.build('address', '_engine')"
_CROSS_BUILD = "from tests import check_programs as c; c.build('{}', 'check_kernels')"


def failures(output: str) -> list[str]:
    """The names of the tests that failed, in the summary of pytest's output."""
    return _FAILURE.findall(output)


def running(output: str) -> str:
    """The test that was running when pytest's verbose output ended, "" if there was none."""
    *_, (name, end) = [("", ""), *_TEST.findall(output)]
    return "" if end.startswith(_ENDED) else name


@dataclass(frozen=True)
class TestRun:
    """The end of a run of tests: the first test that failed ("" if none did) or ended the process,
    the seconds, what was printed, and whether no test was selected. `failed` says how the process
    ended where no test is to blame.
    """

    failed: str
    seconds: float
    output: str = ""
    is_empty: bool = False


class Worker:
    """One copy of the checkout."""

    def __init__(self, number: int) -> None:
        self.root = paths.cache() / "mutate" / str(number)
        self.python = self.root / ".venv" / "bin" / "python"
        self._time_s = 0
        self.instrumented = self.root / ".cache" / "instrumented" / "address"

    def prepare(self) -> None:
        """Makes the copy equal to the checkout, with the engine that is built there."""
        argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.check_output(argv, cwd=shell.ROOT, text=True).split("\0")
        names = {name for name in listed if name and (shell.ROOT / name).is_file()}
        names |= {str(p.relative_to(shell.ROOT)) for p in shell.ROOT.glob("trimtab/_engine*.so")}
        for folder in ("bindings", "kernels", "lab", "runtime", "tests", "trimtab"):
            for path in (self.root / folder).rglob("*"):
                if path.is_file() and str(path.relative_to(self.root)) not in names:
                    path.unlink()
        for name in names:
            # Equal files keep their time, so that the next build compiles only what differs.
            files.copy_if_changed(shell.ROOT / name, self.root / name)
        self._commit()
        self._make_environment()
        # Compiled C libraries; objects of the engine; real models, beside the checkout.
        zig, objects = paths.zig_cache(), paths.cache() / "objects"
        shared = shell.ROOT.parent / "shared"
        zig.mkdir(parents=True, exist_ok=True)
        links = {self.root / ".cache" / path.name: path for path in (zig, objects)}
        links[self.root.parent / shared.name] = shared
        for link, target in links.items():
            if target.is_dir() and not link.is_symlink():
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(target)

    def _commit(self) -> None:
        """Makes the copy a repository, of which tests make clones."""
        author = ("-c", "user.name=mutate", "-c", "user.email=mutate@localhost")
        commit = ("commit", "-q", "--no-verify", "--allow-empty", "-m", "a copy")
        for words in (("init", "-q"), ("add", "-A"), (*author, *commit)):
            subprocess.run(["git", *words], cwd=self.root, check=True)

    def _make_environment(self) -> None:
        """A virtual environment with the packages of this one, except the installed trimtab."""
        if self.python.exists():
            return
        argv = [sys.executable, "-m", "venv", "--without-pip", str(self.root / ".venv")]
        subprocess.run(argv, check=True)
        own = Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
        packages = sysconfig.get_path("purelib")
        # Python does not read the .pth files in a folder that a .pth file adds.
        text = f"{self.root}\n{packages}\n"
        files.write_text(self.root / ".venv" / own / "mutate.pth", text)
        for program in Path(sys.executable).parent.iterdir():
            link = self.python.parent / program.name
            if not link.exists():
                link.symlink_to(program)

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """The copy with the bug. Each version of a file has a time of its own, by which Python
        knows that what it compiled before is stale.
        """
        path = self.root / mutant.file
        source = path.read_text("utf-8")
        try:
            self._write(path, mutant.applied(source))
            yield
        finally:
            self._write(path, source)

    def _write(self, path: Path, text: str) -> None:
        self._time_s = max(self._time_s + 1, int(time.time()))
        files.write_text(path, text)
        os.utime(path, (self._time_s, self._time_s))

    def configure(self) -> None:
        """Makes the build tree of the engine, under AddressSanitizer and UBSan, and builds what
        tests in Python load. BuildError.
        """
        self._build([str(self.python), "-P", "-c", _CONFIGURE])

    def build(self, target: str) -> None:
        """Builds one target in that tree. BuildError."""
        self._build([shell.tool("cmake"), "--build", str(self.instrumented), "--target", target])

    def cross_build(self, toolchains: Sequence[str]) -> None:
        """Builds the checks of kernels for the machines of these toolchains. BuildError."""
        for name in toolchains:
            self._build([str(self.python), "-P", "-c", _CROSS_BUILD.format(name)])

    def _build(self, argv: Sequence[str]) -> None:
        done = self._run(argv, self._environment(), None)
        if done.returncode:
            raise BuildError(f"the engine of the copy does not build:\n{done.stdout[-2000:]}")

    def check(self, program: str, timeout: float) -> TestRun:
        """Runs one of the engine's own check programs."""
        return self._timed(
            [str(self.instrumented / program)], self._environment(), timeout, program
        )

    def test(
        self, words: Sequence[str], timeout: float | None, *, sanitized: bool = False
    ) -> TestRun:
        """Runs pytest, until the first test that fails."""
        argv = [str(self.python), "-m", "pytest", "-x", "-v", "-p", "no:cacheprovider"]
        argv += ["--disable-plugin-autoload", *words]  # importing plug-ins takes two seconds
        environment = self._environment()
        if sanitized:
            from lab.dev import instrumented

            argv.append(f"--engine={self.instrumented}")
            environment |= {
                key: instrumented.preloaded()[key] for key in ("LD_PRELOAD", "ASAN_OPTIONS")
            }
        return self._timed(argv, environment, timeout, "pytest")

    def failing(self, tests: Sequence[str], *, sanitized: bool) -> set[str]:
        """The tests that fail, of these, however long all of them take."""
        failing: set[str] = set()
        while left := [test for test in tests if test not in failing]:
            done = self.test([*left, "--maxfail=0"], None, sanitized=sanitized)
            last = running(done.output)  # it ended the process, before those that follow it
            failing |= {*failures(done.output), last} - {""}
            if last not in left:
                break
        return failing

    def _timed(
        self, argv: Sequence[str], environment: Mapping[str, str], timeout: float | None, name: str
    ) -> TestRun:
        start = time.monotonic()
        try:
            done = self._run(argv, environment, timeout)
        except subprocess.TimeoutExpired:
            return TestRun(TIMEOUT, time.monotonic() - start)
        failed = ""
        # pytest: 5 if no test was selected, 4 also if a named test does not exist.
        is_absent = done.returncode == 5 or "ERROR: not found: " in done.stdout
        if done.returncode and not is_absent:
            named = [*failures(done.stdout), running(done.stdout), *_SANITIZER.findall(done.stdout)]
            failed = next(filter(None, named), f"{name} ends with {done.returncode}")
        return TestRun(failed, time.monotonic() - start, done.stdout, is_absent)

    def _run(
        self, argv: Sequence[str], environment: Mapping[str, str], timeout: float | None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program in the copy; what it started ends with it."""
        with subprocess.Popen(
            argv, cwd=self.root, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
        ) as process:  # fmt: skip
            try:
                output, _ = process.communicate(timeout=timeout)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        return subprocess.CompletedProcess(argv, process.returncode, output)

    def _environment(self) -> dict[str, str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TRIMTAB_")}
        return {**environment, "CMAKE_CXX_COMPILER_LAUNCHER": shell.tool("ccache")}
