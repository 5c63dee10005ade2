"""The sections of a .cfg file, with their options in order, as in Darknet's option list."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from trimtab.errors import ImportModelError, ModelFileError


@dataclass
class CfgSection:
    """A section `[type]` with its options; `line` counts from 1."""

    type: str
    path: str
    line: int
    options: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """The file, line and type of the section."""
        return f"{self.path}, line {self.line}: [{self.type}]"

    def has(self, name: str) -> bool:
        """Whether the option is present."""
        return name in self.options

    def text(self, name: str, default: str) -> str:
        """An option as text."""
        return self.options.get(name, default)

    def integer(self, name: str, default: int) -> int:
        """An integer; of several values, the first."""
        integers = self.integers(name)
        return integers[0] if integers else default

    def real(self, name: str, default: float) -> float:
        """A float; of several values, the first."""
        reals = self.reals(name)
        return reals[0] if reals else default

    def integers(self, name: str) -> list[int]:
        """A comma-separated list of integers; fractions are truncated, as in Darknet."""
        values = self.reals(name)
        if not all(math.isfinite(value) for value in values):
            raise self._invalid(name)
        return [int(value) for value in values]

    def reals(self, name: str) -> list[float]:
        """A comma-separated list of floats."""
        words = [word.strip() for word in self.options.get(name, "").split(",")]
        try:
            return [float(word) for word in words if word]
        except ValueError:
            raise self._invalid(name) from None

    def _invalid(self, name: str) -> ImportModelError:
        return ImportModelError(
            f"'{name}' is {self.options[name]!r}, not numbers",
            where=self.where,
            hint="correct the option",
        )


def parse(text: str, path: str) -> list[CfgSection]:
    """All sections; ModelFileError names a line that is neither a section nor an option."""
    sections: list[CfgSection] = []
    for number, raw_line in enumerate(text.splitlines(), 1):
        # Darknet drops all spaces, and comments only at the beginning of a line.
        line = "".join(raw_line.split())
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and "]" in line:
            sections.append(CfgSection(line[1:].split("]")[0].lower(), path, number))
            continue
        name, equals, value = line.partition("=")
        if not equals or not sections:
            raise ModelFileError(
                f"line {number} is neither a [section] nor an option=value",
                where=path,
                hint="give the .cfg file of a Darknet network",
            )
        sections[-1].options[name] = value.split("#")[0]
    return sections
