"""Rooms of the project: the sources of each, and the tests that must notice a bug in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.dev import shell
from lab.mutate import cpp_bugs, python_bugs
from lab.mutate.mutants import Mutant
from trimtab.errors import UsageError

MODULES = "modules"
"""The room of the modules directly below `trimtab/`."""

_CPP = {"core": "runtime/core", "ops": "runtime/ops", "generic": "kernels/generic"}
# Rooms whose tests have another name.
_TESTS = {"plugin_kit": "plugins", "core": "ops", "generic": "ops"}


@dataclass(frozen=True)
class SourceRoom:
    """The sources in one folder; `is_cpp`: they are compiled into the engine."""

    name: str
    folder: str
    is_cpp: bool = False

    def files(self, root: Path) -> list[str]:
        """The sources, relative to the root of a checkout."""
        suffixes = (".cpp", ".h") if self.is_cpp else (".py",)
        folder = root / self.folder
        paths = folder.glob("*") if self.name == MODULES else folder.rglob("*")
        own = [path for path in paths if path.suffix in suffixes and "_resources" not in path.parts]
        return sorted(str(path.relative_to(root)) for path in own)

    def find(self, file: str, source: str) -> list[Mutant]:
        """All mutants of one source."""
        return cpp_bugs.find(file, source) if self.is_cpp else python_bugs.find(file, source)

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
    by_name |= {name: SourceRoom(name, folder, True) for name, folder in _CPP.items()}
    return by_name


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


def nearest(file: str) -> list[str]:
    """The test files named after a module, else those of its sub-folder: in a folder of the same
    name, or named after the format (`onnx_ops`: test_onnx_*.py).
    """
    path = Path(file)
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
