"""The tests that a change may break: those nearest to the changed files first, then every fourth of
their rooms, and every twelfth of the rooms that import these.

All of them run with `./inv test`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lab.dev import rooms, shell
from trimtab.errors import UsageError

_FAST = "not build and not device and not slow"
# The tests of every operator and of the engine, and those of rooms that import a changed one: a
# sample shows that others still work.
_ENGINE = ("tests/engine", "tests/ops")
_SAMPLE = "--every=12"
_QUARTER = "--every=4"


@dataclass(frozen=True)
class ChosenTests:
    """Tests of one run: files or folders, and more arguments for pytest."""

    tests: tuple[str, ...]
    arguments: tuple[str, ...] = ()


def changed(since: str) -> list[str]:
    """The files that differ from a commit, those that git does not know included.

    UsageError if there is no such commit.
    """
    code, text = shell.output(["git", "diff", "--name-only", since, "--"])
    if code:
        raise UsageError(f"git knows no commit {since!r}", hint="for example HEAD, main or 0a1b2c3")
    unknown = shell.output(["git", "ls-files", "--others", "--exclude-standard"])[1]
    return sorted({*text.splitlines(), *unknown.splitlines()})


def of_room(name: str) -> ChosenTests:
    """The tests of one room; UsageError if there is none."""
    return ChosenTests(tuple(rooms.find(name).tests()))


def of_files(files: Iterable[str]) -> list[ChosenTests]:
    """The runs for changed files, nearest tests first; a file that nothing tests adds none."""
    near: dict[str, None] = {}
    same_room: dict[str, None] = {}
    far: dict[str, None] = {}
    words: set[str] = set()
    engine = False
    for file in files:
        room = rooms.of_file(file)
        if file.startswith("tests/"):
            near.update(dict.fromkeys(_of_test_file(file)))
        elif file.startswith("kernels/"):
            near["tests/kernels"] = None
            engine = True
        elif room and room.name in rooms.CPP:
            words |= {Path(file).stem}
            engine = True
        elif room:
            near.update(dict.fromkeys(rooms.nearest(file)))
            same_room.update(dict.fromkeys(room.tests()))
            for other in _importers(room.name):
                far.update(dict.fromkeys(rooms.find(other).tests()))
        elif file.startswith("lab/") and file.endswith(".py"):
            near.update(dict.fromkeys(rooms.mirrored(f"lab/{'_'.join(Path(file).parts[1:])}")))
            same_room["tests/lab"] = None
    runs = []
    if near:
        runs.append(ChosenTests(tuple(near), ("-m", "not slow")))
    if words:
        named = ("-k", " or ".join(sorted(words)), "-m", _FAST)
        runs.append(ChosenTests(_ENGINE, named))
    if engine:
        runs.append(ChosenTests(_ENGINE, (_SAMPLE, "-m", _FAST)))
    for tests, share in ((same_room, _QUARTER), (far, _SAMPLE)):
        if left := tuple(test for test in tests if test not in near):
            runs.append(ChosenTests(left, (share, "-m", _FAST)))
        near |= tests
    return runs


def _of_test_file(file: str) -> list[str]:
    """A file of tests, or for what tests use the tests beside it."""
    path = Path(file)
    if not (shell.ROOT / path.parent).is_dir():
        return []  # the last of its folder was removed
    if path.name.startswith("test_") and path.suffix == ".py":
        return [file] if (shell.ROOT / path).is_file() else []
    beside = sorted((shell.ROOT / path.parent).glob("test_*.py"))
    return [str(path.parent)] if beside and path.parent != Path("tests") else []


def _importers(name: str) -> list[str]:
    """The rooms whose modules import this one."""
    importing = set()
    for path in (shell.ROOT / "trimtab").rglob("*.py"):
        room = rooms.of_file(str(path.relative_to(shell.ROOT)))
        if room and room.name != name and name in _imported(path):
            importing.add(room.name)
    return sorted(importing)


def _imported(path: Path) -> set[str]:
    """The rooms that a module imports."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "trimtab":
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trimtab."):
            imported.add(str(node.module).split(".")[1])
    return imported
