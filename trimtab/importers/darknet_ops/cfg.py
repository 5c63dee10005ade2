"""Networks as text: sections of keys and values, in their order, as Darknet's option list."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from trimtab.errors import ImportModelError, ModelFileError


@dataclass
class CfgSection:
    """`[type]` and what follows; `line` counts from 1."""

    type: str
    path: str
    line: int
    options: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """File, line and type."""
        return f"{self.path}, line {self.line}: [{self.type}]"

    def has(self, name: str) -> bool:
        """Whether the option is written."""
        return name in self.options

    def text(self, name: str, default: str) -> str:
        """A word."""
        return self.options.get(name, default)

    def integer(self, name: str, default: int) -> int:
        """An integer; Darknet reads as much of the text as is one."""
        found = self.integers(name)
        return found[0] if found else default

    def real(self, name: str, default: float) -> float:
        """A real number."""
        found = self.reals(name)
        return found[0] if found else default

    def integers(self, name: str) -> list[int]:
        """Integers with commas in between; what follows the point is dropped, as Darknet does."""
        values = self.reals(name)
        if not all(math.isfinite(value) for value in values):
            raise self._bad(name)
        return [int(value) for value in values]

    def reals(self, name: str) -> list[float]:
        """Real numbers with commas in between."""
        words = [word.strip() for word in self.options.get(name, "").split(",")]
        try:
            return [float(word) for word in words if word]
        except ValueError:
            raise self._bad(name) from None

    def _bad(self, name: str) -> ImportModelError:
        return ImportModelError(
            f"'{name}' is {self.options[name]!r}, not numbers", where=self.where
        )


def parse(text: str, path: str) -> list[CfgSection]:
    """All sections; ModelFileError names the line that is neither a section nor an option."""
    sections: list[CfgSection] = []
    for number, written in enumerate(text.splitlines(), 1):
        # Darknet drops spaces anywhere, and comments only where a line begins.
        line = "".join(written.split())
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            sections.append(CfgSection(line[1:].split("]")[0].lower(), path, number))
            continue
        name, equals, value = line.partition("=")
        if not equals or not sections:
            raise _bad(path, number)
        sections[-1].options[name] = value.split("#")[0]
    return sections


def _bad(path: str, number: int) -> ModelFileError:
    return ModelFileError(
        f"line {number} is neither a [section] nor an option=value",
        where=path,
        hint="give the .cfg file of a Darknet network",
    )
