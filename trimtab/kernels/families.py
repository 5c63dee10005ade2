"""Kernel families: parses the declarations in `kernels/generic/` and derives their kernels.

`kernels/generic/family.h` documents the syntax of a declaration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab import schema
from trimtab.errors import SchemaError
from trimtab.kernels.isa import PORTABLE, Isa
from trimtab.kernels.naming import Kernel, KernelTemplate, named

_BEGIN = re.compile(r"^TRIMTAB_FAMILY\b", re.MULTILINE)
_DECLARATION = re.compile(
    r"TRIMTAB_FAMILY\((?P<options>(?:[^()]|\([^()]*\))*)\)\s*"
    r"(?:template <[^>]*>\s*)?"
    r"inline void (?P<function>[A-Z]\w*)\(const (?P<args>\w+)<Element>& \w+\)"
)
_TILE = re.compile(r"(?:[1-9]\d*x)?[1-9]\d*")
_TILE_OF_LANES = re.compile(rf"(\d+)\s*:\s*({_TILE.pattern})")
_BASE = re.compile(r'^#include "kernels/\w+/(vec_\w+\.h)"', re.MULTILINE)
_LANES = re.compile(r"^constexpr size_t kLanes = (\d+);", re.MULTILINE)


@dataclass(frozen=True)
class Family:
    """One declaration. `root`: the kernel folder with its vector headers. `tiles`: as in the names
    of kernels; empty for a family whose kernels have no tile.
    """

    name: str
    header: Path
    root: Path
    function: str
    args_type: str
    dtypes: tuple[str, ...]
    portable: bool = False
    needs: tuple[str, ...] = ()
    tiles: tuple[str, ...] = ()
    tile_by_lanes: tuple[tuple[int, str], ...] = ()

    def kernels(self, isas: Mapping[str, Isa]) -> Iterator[Kernel]:
        """The generated kernels, by instruction set and dtype."""
        if unknown := {*self.needs} - {lack for isa in isas.values() for lack in isa.lacks}:
            raise SchemaError(
                f"family {self.name} has unknown needs: {', '.join(sorted(unknown))}",
                where=str(self.header),
                hint="use a name from `lacks` in kernels/isa.toml",
            )
        for isa in isas.values():
            if not {*self.needs} & {*isa.lacks} and (isa.name == PORTABLE or not self.portable):
                for dtype in (d for d in self.dtypes if d in isa.vectors):
                    for tile in self._tiles(isa, dtype):
                        yield self._kernel(isa, dtype, tile, isas)

    def _tiles(self, isa: Isa, dtype: str) -> tuple[str, ...]:
        if not self.tiles and not self.tile_by_lanes:
            return ("",)
        if isa.name == PORTABLE:
            return ()
        lanes = _lanes(self.root / isa.folder / isa.vectors[dtype])
        return self.tiles + tuple(tile for n, tile in self.tile_by_lanes if n == lanes)

    def _kernel(self, isa: Isa, dtype: str, tile: str, isas: Mapping[str, Isa]) -> Kernel:
        name = "_".join(part for part in (self.name, dtype, tile, isa.name) if part)
        template = KernelTemplate(
            vectors=f"kernels/{isa.folder}/{isa.vectors[dtype]}",
            header=f"kernels/generic/{self.header.name}",
            function=self.function + (f"<{tile.replace('x', ', ')}>" if tile else ""),
        )
        path = Path("generated", "kernels", f"{name}.cpp")
        return named(name, isas, path, self.args_type, self.header, template)


def read_families(header: Path, root: Path) -> list[Family]:
    """The families that a header declares, for the vector headers in `root`; SchemaError names the
    line of a malformed declaration.
    """
    text = _text(header)
    families = []
    for begin in _BEGIN.finditer(text):
        where = f"{header}:{text.count(chr(10), 0, begin.start()) + 1}"
        match = _DECLARATION.match(text, begin.start())
        if match is None:
            raise SchemaError(
                "TRIMTAB_FAMILY must precede an inline void Function(const ...Args<Element>& args)",
                where=where,
                hint="kernels/generic/family.h has the rules",
            )
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", match["function"]).lower()
        try:
            options = _options(match["options"])
        except ValueError as e:
            raise SchemaError(
                f"family {name}: {e}", where=where, hint="kernels/generic/family.h has the rules"
            ) from None
        families.append(Family(name, header, root, match["function"], match["args"], **options))
    return families


def _options(text: str) -> dict[str, Any]:
    """The options as fields of a Family; ValueError if one is malformed."""
    fields: dict[str, Any] = {"dtypes": ()}
    for option in filter(None, re.split(r",\s*(?![^()]*\))", text.strip())):
        word, _, arguments = option.partition("(")
        values = tuple(value.strip() for value in arguments.removesuffix(")").split(",") if value)
        pairs = [_TILE_OF_LANES.fullmatch(value) for value in values]
        if word in schema.DTYPES and not values:
            fields["dtypes"] += (word,)
        elif word == PORTABLE and not values:
            fields["portable"] = True
        elif word == "needs" and values:
            fields["needs"] = values
        elif word == "tiles" and values and all(map(_TILE.fullmatch, values)):
            fields["tiles"] = values
        elif word == "tile_by_lanes" and values and all(pairs):
            fields["tile_by_lanes"] = tuple((int(m[1]), m[2]) for m in pairs if m)
        else:
            raise ValueError(f"{option} is not a dtype or an option")
    if not fields["dtypes"]:
        raise ValueError("it has no dtype")
    return fields


def _lanes(header: Path) -> int:
    """The number of vector elements, from a vector header or the header that it is based on."""
    text = _text(header)
    match = _LANES.search(text)
    if match is None and (base := _BASE.search(text)):
        return _lanes(header.with_name(base[1]))
    if match is None:
        raise SchemaError("must define constexpr size_t kLanes = ...;", where=str(header))
    return int(match[1])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise SchemaError(str(e), where=str(path)) from None
