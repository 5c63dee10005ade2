"""Rooms of the project whose sources can be mutated, and what compiles them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from lab.dev import rooms as dev
from lab.mutate import cpp_bugs, python_bugs, shell_bugs
from lab.mutate.mutants import Mutant

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
class SourceRoom(dev.ProjectRoom):
    """The sources in one folder. `toolchains`: those that compile them, if this machine's engine
    does not contain them.
    """

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
        return self.sources(root, self.language.value)

    def find(self, file: str, source: str) -> list[Mutant]:
        """All mutants of one source."""
        return _FIND[self.language](file, source)

    def mutants(self, root: Path) -> list[Mutant]:
        """All mutants of the sources."""
        files = self.files(root)
        return [one for file in files for one in self.find(file, (root / file).read_text("utf-8"))]


def rooms() -> dict[str, SourceRoom]:
    """All rooms by name."""
    return {
        room.name: SourceRoom(room.name, room.folder, _language(room), _EMULATED.get(room.name, ()))
        for room in dev.rooms().values()
    }


def _language(room: dev.ProjectRoom) -> Language:
    if room.name == dev.SCRIPTS:
        return Language.SHELL
    return Language.CPP if room.name in dev.CPP else Language.PYTHON


def find(name: str) -> SourceRoom:
    """The room of that name; UsageError if there is none."""
    return rooms()[dev.find(name).name]


def chosen(names: Sequence[str]) -> list[SourceRoom]:
    """The rooms of these names, all without any."""
    return [find(name) for name in names] or [*rooms().values()]
