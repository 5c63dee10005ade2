"""Rooms of the project: their sources, and the tests that must notice a mistake in them.

A room is a folder of `trimtab/`, of the engine or of its kernels. Its tests are in the folder of
`tests/` with the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.dev import shell
from trimtab.errors import UsageError

MODULES = "modules"
"""The room of the modules directly below `trimtab/`."""

SCRIPTS = "scripts"
"""The shell scripts that run on devices."""

CPP = {
    "core": "runtime/core", "ops": "runtime/ops", "api": "runtime/api", "app": "runtime/app",
    "bindings": "bindings", "generic": "kernels/generic", "portable": "kernels/portable",
    "x86": "kernels/x86", "arm": "kernels/arm",
}  # fmt: skip
"""The rooms of the engine, and the folder of each."""

# Rooms whose tests have another name.
_TESTS = {"plugin_kit": "plugins", "core": "ops", "generic": "ops", SCRIPTS: "devices"}
_TESTS |= dict.fromkeys(("portable", "x86", "arm"), "kernels")
_TESTS |= {"api": "engine", "app": "build", "bindings": "engine"}


@dataclass(frozen=True)
class ProjectRoom:
    """The sources in one folder of the checkout."""

    name: str
    folder: str

    def sources(self, root: Path, suffixes: Iterable[str]) -> list[str]:
        """The files with one of these suffixes, relative to the root of a checkout."""
        folder = root / self.folder
        paths = folder.glob("*") if self.name == MODULES else folder.rglob("*")
        own = [path for path in paths if path.suffix in suffixes]
        return sorted(str(path.relative_to(root)) for path in own if not _is_copied(path))

    def tests(self) -> list[str]:
        """The folder of the room's tests, or its files."""
        if self.name == MODULES:
            return sorted(f"tests/{path.name}" for path in (shell.ROOT / "tests").glob("test_*.py"))
        return [f"tests/{_TESTS.get(self.name, self.name)}"]


@cache
def rooms() -> dict[str, ProjectRoom]:
    """All rooms by name."""
    package = shell.ROOT / "trimtab"
    names = [path.name for path in sorted(package.iterdir()) if (path / "__init__.py").is_file()]
    by_name = {name: ProjectRoom(name, f"trimtab/{name}") for name in names}
    by_name[MODULES] = ProjectRoom(MODULES, "trimtab")
    by_name[SCRIPTS] = ProjectRoom(SCRIPTS, "trimtab/devices/scripts")
    return by_name | {name: ProjectRoom(name, folder) for name, folder in CPP.items()}


def _is_copied(path: Path) -> bool:
    return "_resources" in path.parts  # of a wheel


def find(name: str) -> ProjectRoom:
    """The room of that name; UsageError if there is none."""
    if name not in rooms():
        raise UsageError(f"there is no room {name!r}", hint=f"one of {', '.join(rooms())}")
    return rooms()[name]


def of_file(file: str) -> ProjectRoom | None:
    """The room of a file of the checkout, None if it is in none."""
    path = Path(file)
    if path.suffix == ".sh" and file.startswith(rooms()[SCRIPTS].folder):
        return rooms()[SCRIPTS]
    if path.parent == Path("trimtab"):
        return rooms()[MODULES]
    own = (r for r in rooms().values() if r.name not in (MODULES, SCRIPTS))
    return next((room for room in own if path.is_relative_to(room.folder)), None)


def mirrored(file: str) -> list[str]:
    """The test files that are named after a module, in the folder that mirrors its own or, for a
    module without a room, anywhere.
    """
    path = Path(file)
    folder = Path("tests", *(_TESTS.get(part, part) for part in path.parts[1:-1]))
    stem = f"test_{path.stem.strip('_')}"
    pattern = f"{folder}/{'**/' if len(path.parts) == 2 else ''}{stem}*.py"
    tests = sorted(shell.ROOT.glob(pattern))
    own = [one for one in tests if one.stem == stem or one.stem.startswith(f"{stem}_")]
    return [str(one.relative_to(shell.ROOT)) for one in own]


def naming(script: str) -> list[str]:
    """The test files that name a script of devices, or one that includes it."""
    folder = shell.ROOT / Path(script).parent
    names = {Path(script).stem}
    for path in sorted(folder.glob("*.sh")):
        if f". ./{Path(script).name}" in path.read_text("utf-8"):
            names.add(path.stem)
    if "board_rc" in names:  # it begins with the board, which takes a minute
        return ["tests/devices/board"]
    word = re.compile(rf"\b(?:{'|'.join(sorted(names))})\b")
    tests = (shell.ROOT / "tests" / "devices").rglob("test_*.py")
    own = [path for path in tests if word.search(path.read_text("utf-8"))]
    own = [path for path in own if path.parent.name != "board"]
    return sorted(str(path.relative_to(shell.ROOT)) for path in own)


def nearest(file: str) -> list[str]:
    """The test files named after a module, else those of its sub-folder: in a folder of the same
    name, or named after the format (`onnx_ops`: test_onnx_*.py).
    """
    path = Path(file)
    if path.suffix == ".sh":
        return naming(file)
    if own := mirrored(file):
        return own
    if len(path.parts) < 4:
        return []
    folder = Path("tests", *path.parts[1:-1])
    if (shell.ROOT / folder).is_dir():
        return [str(folder)]
    prefix = f"test_{folder.name.partition('_')[0]}"
    paths = sorted((shell.ROOT / folder.parent).glob(f"{prefix}*.py"))
    return [str(path.relative_to(shell.ROOT)) for path in paths]
