"""Rooms of the project: the sources of each, and the tests that must notice a bug in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from lab.dev import shell
from lab.mutate import cpp_bugs, python_bugs, shell_bugs
from lab.mutate.mutants import Mutant
from trimtab.errors import UsageError

MODULES = "modules"
"""The room of the modules directly below `trimtab/`."""

_SCRIPTS = "scripts"
_CPP = {
    "core": "runtime/core", "ops": "runtime/ops", "api": "runtime/api", "app": "runtime/app",
    "bindings": "bindings", "generic": "kernels/generic", "portable": "kernels/portable",
    "x86": "kernels/x86", "arm": "kernels/arm",
}  # fmt: skip
# Rooms whose tests have another name.
_TESTS = {"plugin_kit": "plugins", "core": "ops", "generic": "ops", _SCRIPTS: "devices"}
_EMULATED = {"arm": ("aarch64-linux-musl", "armv7-linux-musleabihf")}


class Language(Enum):
    """Languages of rooms, with the suffixes of their files."""

    PYTHON = (".py",)
    CPP = (".cpp", ".h")
    SHELL = (".sh",)


_FIND = {
    Language.PYTHON: python_bugs.find,
    Language.CPP: cpp_bugs.find,
    Language.SHELL: shell_bugs.find,
}


@dataclass(frozen=True)
class SourceRoom:
    """The sources in one folder. `toolchains`: those that compile them, if this machine's engine
    does not contain them.
    """

    name: str
    folder: str
    language: Language = Language.PYTHON
    toolchains: tuple[str, ...] = ()

    @property
    def is_cpp(self) -> bool:
        """Whether the sources have to be compiled."""
        return self.language is Language.CPP

    @property
    def is_sanitized(self) -> bool:
        """Whether the sources are compiled into the engine of the copy."""
        return self.is_cpp and not self.toolchains

    def files(self, root: Path) -> list[str]:
        """The sources, relative to the root of a checkout."""
        folder = root / self.folder
        paths = folder.glob("*") if self.name == MODULES else folder.rglob("*")
        own = [path for path in paths if path.suffix in self.language.value]
        return sorted(str(path.relative_to(root)) for path in own if not _is_copied(path))

    def find(self, file: str, source: str) -> list[Mutant]:
        """All mutants of one source."""
        return _FIND[self.language](file, source)

    def mutants(self, root: Path) -> list[Mutant]:
        """All mutants of the sources."""
        files = self.files(root)
        return [one for file in files for one in self.find(file, (root / file).read_text("utf-8"))]

    def tests(self) -> list[str]:
        """The folder of the room's tests, or its files."""
        if self.name == MODULES:
            return sorted(f"tests/{path.name}" for path in (shell.ROOT / "tests").glob("test_*.py"))
        return [f"tests/{_TESTS.get(self.name, self.name)}"]


def rooms() -> dict[str, SourceRoom]:
    """All rooms by name."""
    package = shell.ROOT / "trimtab"
    names = [path.name for path in sorted(package.iterdir()) if (path / "__init__.py").is_file()]
    by_name = {name: SourceRoom(name, f"trimtab/{name}") for name in names}
    by_name[MODULES] = SourceRoom(MODULES, "trimtab")
    by_name[_SCRIPTS] = SourceRoom(_SCRIPTS, "trimtab/devices/scripts", Language.SHELL)
    for name, folder in _CPP.items():
        by_name[name] = SourceRoom(name, folder, Language.CPP, _EMULATED.get(name, ()))
    return by_name


def _is_copied(path: Path) -> bool:
    return "_resources" in path.parts  # of a wheel


def find(name: str) -> SourceRoom:
    """The room of that name; UsageError if there is none."""
    if name not in rooms():
        raise UsageError(f"there is no room {name!r}", hint=f"one of {', '.join(rooms())}")
    return rooms()[name]


def chosen(names: Sequence[str]) -> list[SourceRoom]:
    """The rooms of these names, all without any."""
    return [find(name) for name in names] or [*rooms().values()]


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
    if path.suffix in Language.SHELL.value:
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
