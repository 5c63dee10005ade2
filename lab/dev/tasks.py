"""Tasks of development: build, check, format, test, sanitize, lock, release."""

from __future__ import annotations

from invoke.context import Context
from invoke.exceptions import Exit

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine

_NO_TESTS = 5  # pytest's exit code


@task
@needs_engine
def engine(_: Context) -> None:
    """Build the Python engine of this checkout, incrementally."""


@task(
    help={
        "tidy": "with clang-tidy, the slowest check (--no-tidy skips it)",
        "deep": "clang-tidy's analyzer follows all paths: about five times as long",
    }
)
def lint(_: Context, tidy: bool = True, deep: bool = False) -> None:
    """Check formatting, lint, types and words of the sources and pages."""
    import sys
    from concurrent.futures import ThreadPoolExecutor

    from lab.dev import cpp, shell, workflows

    schema = [shell.tool("check-jsonschema"), "--quiet", "--builtin-schema"]
    *flows, action = map(str, workflows.files())
    checks = {
        "ruff format": [shell.tool("ruff"), "format", "--check", "--quiet", "."],
        "ruff check": [shell.tool("ruff"), "check", "--quiet", "."],
        "mypy": [shell.tool("mypy"), "--no-error-summary"],
        **{
            f"mypy for {name}": [
                shell.tool("mypy"), "--no-error-summary", "--platform", name,
                "--cache-dir", f".mypy_cache/{name}", "trimtab",
            ]
            for name in ("darwin", "win32")
        },
        "clang-format": [shell.tool("clang-format"), "--dry-run", "--Werror", *cpp.sources()],
        "shellcheck": [
            shell.tool("shellcheck", "./inv setup"), "-x", "-P", "SCRIPTDIR", *shell.scripts(),
        ],
        "commits": [sys.executable, "-P", "-m", "lab.dev.commits"],
        "words": [sys.executable, "-P", "-m", "lab.dev.words"],
        "workflows": [*schema, "vendor.github-workflows", *flows],
        "action.yml": [*schema, "vendor.github-actions", action],
        "run lines": [sys.executable, "-P", "-m", "lab.dev.workflows"],
    }  # fmt: skip
    codes = {}
    with ThreadPoolExecutor(len(checks)) as pool:
        # These use one core each, most of the time, while clang-tidy uses all.
        running = {name: pool.submit(shell.output, argv) for name, argv in checks.items()}
        if tidy:
            codes["clang-tidy"] = cpp.tidy(deep)
        for name, future in running.items():
            codes[name], text = future.result()
            print(text, end="")
    for name, code in codes.items():
        print(f"{name}: {'FAILED' if code else 'ok'}")
    if failed := [name for name, code in codes.items() if code]:
        raise Exit(f"lint failed: {', '.join(failed)}\n  next: ./inv format fixes the formatting")


@task(name="format")
def format_(_: Context) -> None:
    """Format the Python and C++ sources in place."""
    from lab.dev import cpp, shell

    ruff = shell.tool("ruff")
    codes = [
        shell.run([ruff, "check", "--quiet", "--select", "I", "--fix", "."]),
        shell.run([ruff, "format", "--quiet", "."]),
        shell.run([shell.tool("clang-format"), "-i", *cpp.sources()]),
    ]
    if any(codes):
        raise Exit("format failed: see above")


@task(
    name="test",
    help={
        "full": "also the slow tests, then the fuzzers' search and ten planted bugs",
        "fast": "skip tests that need a cross compiler, an emulator or a device",
        "device": "only the operator vectors and networks, on this device (see `devices`)",
        "case": "only the operator that `debug --case FOLDER` saved, alone: this folder",
        "keyword": "only tests whose name matches this pytest expression",
        "path": "only this test file or folder",
        "room": "only the tests of this folder of trimtab/ or of the engine, such as `passes`",
        "changed": "only what files changed since this commit may break, nearest tests first",
        "jobs": "processes that run tests; default: two more than cores, or one for selected tests",
    },
)
def run_tests(
    _: Context,
    full: bool = False,
    fast: bool = False,
    device: str = "",
    case: str = "",
    keyword: str = "",
    path: str = "",
    room: str = "",
    changed: str = "",
    jobs: int = 0,
) -> None:
    """Install what the tests need, build the engine for this machine and run the tests.

    Without the right to install packages, tests that need a missing one are skipped, with reasons.
    """
    import os
    import sys
    from pathlib import Path

    from lab.dev import beforehand, selection, shell
    from trimtab import doctor, paths, system
    from trimtab.cli._engine import build_engine
    from trimtab.cli._progress import shown
    from trimtab.cli.debug import repeat_case
    from trimtab.errors import MissingRequirementError, UsageError

    if case:
        build_engine()
        repeat_case(Path(case), device)
        return
    selected = bool(fast or device or keyword or path or room or changed)
    runs = [selection.ChosenTests((path,) if path else ())]
    if room:
        runs = [selection.of_room(room)]
    elif changed and not (runs := selection.of_files(selection.changed(changed))):
        shown().note(f"no test is near to a file that changed since {changed}")
    if not selected:
        if not (shell.ROOT / "tests/__pycache__").is_dir():
            beforehand.begin()  # the first run in this checkout
        try:
            doctor.install(doctor.examine(), shown())
        except MissingRequirementError as error:
            shown().note(f"tests that need a missing package will be skipped: {error}")
    build_engine()
    # Processes that tests start would compile every module again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Durations, too, for whoever asks where the time went.
    argv = [sys.executable, "-m", "pytest", f"--junitxml={paths.cache() / 'tests.xml'}"]
    if full:
        argv.append("--full")
    if fast:
        argv += ["-m", "not build and not device and not slow"]
    if device:
        argv.append(f"--device={device}")
        # All other tests are about this machine.
        runs = [selection.ChosenTests((path or "tests/ops/test_on_device.py",))]
    if keyword:
        argv += ["-k", keyword]
    # Two more than there are cores: some tests wait for devices, shells and clocks.
    jobs = jobs or (1 if path or keyword else system.usable_cpus() + 2)
    if jobs > 1:
        # Tests of a file share builds. Files start in the order set by tests/conftest.py. Of few
        # files, each process takes what is left.
        dist = ["worksteal"] if changed else ["loadfile", "--no-loadscope-reorder"]
        argv += ["-n", str(jobs), "--dist", *dist]
    for chosen in runs:
        code = shell.run([*argv, *chosen.arguments, *chosen.tests])
        if code == _NO_TESTS and keyword:
            raise UsageError(
                f"no test is selected by --keyword {keyword!r}",
                hint="a word of tests' names, or an expression such as 'resize and not int8'",
            )
        if code and not (changed and code == _NO_TESTS):
            raise Exit(code=code)
    if full and not selected:
        # What takes long and rarely finds anything: the search of fuzzers, and some planted bugs.
        revision = shell.output(["git", "rev-parse", "HEAD"])[1].strip()
        inv = [sys.executable, "-P", "-m", "lab"]
        for words in (
            ["fuzz", "--minutes", "0.5", "--jobs", "5"],
            ["mutate", "--replay", "10", "--seed", revision],
        ):
            if code := shell.run([*inv, *words]):
                raise Exit(code=code)


@task(
    help={
        "part": "only memory (AddressSanitizer and UBSan) or threads (ThreadSanitizer)",
        "small": "all tests of bounds, every 24th operator test, one small network, as in CI",
        "keyword": "only tests whose name matches this pytest expression",
        "jobs": "processes that run tests; default: one per core",
    },
)
@needs_engine
def sanitize(
    _: Context, part: str = "", small: bool = False, keyword: str = "", jobs: int = 0
) -> None:
    """Run the engine's tests under AddressSanitizer and UBSan, whole networks under TSan."""
    from lab.dev import sanitizers
    from trimtab import system
    from trimtab.errors import UsageError

    if part not in ("", "memory", "threads"):
        raise UsageError(f"unknown part {part!r}", hint="use memory or threads")
    failed = []
    if part != "memory" and not keyword:
        failed += sanitizers.threads(small)
    if part != "threads":
        failed += sanitizers.memory(small, keyword, jobs or system.usable_cpus())
    if failed:
        raise Exit("sanitize: " + "; ".join(failed) + ": failed, see above", code=1)


@task(help={"upgrade": "to the newest versions that pyproject.toml allows"})
def lock(_: Context, upgrade: bool = False) -> None:
    """Update requirements.lock from pyproject.toml; valid versions do not change."""
    from lab.dev import lock as requirements

    requirements.renew(upgrade)


@task(
    help={
        "wheels": "folder of wheels built by cibuildwheel; default: build one for this Python",
        "output": "folder, which must not exist; default: dist",
        "check-tag": "only fail unless this tag is that of the version and of its changelog",
    }
)
def release(_: Context, wheels: str = "", output: str = "dist", check_tag: str = "") -> None:
    """Build source distribution, wheels, SBOM, pages, notes and SHA-256 sums of the last commit."""
    from pathlib import Path

    from lab.dev import distribution, shell
    from trimtab import files
    from trimtab.errors import UsageError

    if check_tag:
        distribution.check_tag(check_tag, shell.ROOT)
        return
    folder = Path(output)
    if folder.exists():
        raise UsageError("the folder exists", where=output, hint="move it away, or name another")
    built = sorted(Path(wheels).glob("*.whl")) if wheels else []
    if wheels and not built:
        raise UsageError("the folder has no wheels", where=wheels)
    with files.replacing_folder(folder.absolute()) as fresh:
        distribution.build(shell.ROOT, fresh, built)
    print((folder / distribution.SUMS).read_text(), end="")
