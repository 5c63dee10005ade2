"""Timings of layers, in one file of JSON lines that can be committed and merged.

A line holds the times of one layer with one decision, by the id of the block that they were
measured in. Two decisions are compared over the blocks that both have: their launches were
interleaved. Lines are only added, and lines with equal keys are united, so files of several
devices, networks and branches merge by concatenation (`merge=union` in git).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from trimtab import files, strict_json
from trimtab.compare import paired
from trimtab.compare.paired import Effect
from trimtab.errors import ResultError
from trimtab.results.statistics import Interval

FORMAT = 1
SUFFIX = ".jsonl"


@dataclass(frozen=True)
class Key:
    """The key of a timing.

    `core`, `threads`, `unit` ("ns" or "instructions") and `context` ("resident": the last-level
    cache keeps the network's weights, or "streamed") say where; `layer` and `code` are digests of
    the layer with its neighbors, and of the decisions with their sources.
    """

    core: str
    threads: int
    unit: str
    context: str
    layer: str
    code: str


@dataclass
class _Row:
    """The words for a key, and its times by block."""

    layer_text: str
    code_text: str
    blocks: dict[str, float]


class Timings:
    """The timings of a file, which `add` extends; without a file they live in memory."""

    def __init__(self, path: Path | None = None) -> None:
        """Reads the file if it exists; ResultError, with the line, if it is damaged. A last line
        without its end, of an interrupted run, is ignored.
        """
        self.path = path
        self._rows: dict[Key, _Row] = {}
        self._is_cut = False
        if path and path.is_file():
            self._is_cut = self.merge(path)

    def merge(self, path: Path) -> bool:
        """Adds the timings of another file, in memory; whether its last line has no end."""
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ResultError(f"the timings cannot be read: {error}", where=str(path)) from error
        for number, line in enumerate(lines[:-1], 1):
            if not line.strip():
                continue
            try:
                self._unite(strict_json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise ResultError(
                    f"line {number} is not a timing: {error}",
                    where=str(path),
                    hint="remove the line; docs/tuning.md describes the file",
                ) from error
        return bool(lines[-1])

    def _unite(self, values: Mapping[str, Any]) -> None:
        if values["format"] != FORMAT:
            raise ValueError(f"format {values['format']}")
        kinds = {"threads": int}
        own = {f.name: values[f.name] for f in fields(Key)}
        if any(not isinstance(own[name], kinds.get(name, str)) for name in own):
            raise TypeError("a key has another type")
        blocks = {str(block): float(value) for block, value in values["blocks"].items()}
        if not all(0 < value < float("inf") for value in blocks.values()):
            raise ValueError("a time is not positive")
        row = self._rows.setdefault(
            Key(**own), _Row(str(values["layer_text"]), str(values["code_text"]), {})
        )
        row.blocks.update(blocks)

    def add(self, block: str, times: Iterable[tuple[Key, str, str, float]]) -> None:
        """Adds one block: (key, layer and decisions in words, time per layer), and appends it to
        the file at once.
        """
        lines = []
        for key, layer, code, value in times:
            if value <= 0:
                continue
            row = self._rows.setdefault(key, _Row(layer, code, {}))
            row.blocks[block] = value
            lines.append(_line(key, row, {block: value}))
        if self._is_cut:
            self.compact()
        elif self.path and lines:
            files.append_text(self.path, "".join(lines), error=ResultError)

    def compact(self) -> None:
        """Rewrites the file with one line per key, in a fixed order."""
        if self.path and self._rows:
            rows = sorted(self._rows.items(), key=lambda item: tuple(asdict(item[0]).values()))
            text = "".join(_line(key, row, row.blocks) for key, row in rows)
            files.write_text(self.path, text, error=ResultError)
        self._is_cut = False

    def blocks(self, key: Key) -> Mapping[str, float]:
        """The times of a key by block."""
        row = self._rows.get(key)
        return row.blocks if row else {}

    def effect(self, base: Key, other: Key) -> Effect | None:
        """The time of `other` relative to `base` over their common blocks; None if there are fewer
        than two, or for counts, which are exact, none.
        """
        a, b = self.blocks(base), self.blocks(other)
        common = sorted(a.keys() & b.keys())
        if base.unit == "instructions" and common:
            value = b[common[-1]] / a[common[-1]]
            return Effect(value, Interval(value, value), len(common), 0.0)
        if len(common) < 2:
            return None
        return paired.effect([[a[i]] for i in common], [[b[i]] for i in common])

    def __len__(self) -> int:
        return len(self._rows)


def _line(key: Key, row: _Row, blocks: Mapping[str, float]) -> str:
    values = {
        "format": FORMAT,
        **asdict(key),
        "layer_text": row.layer_text,
        "code_text": row.code_text,
        "blocks": {name: round(blocks[name], 1) for name in sorted(blocks)},
    }
    return strict_json.dumps(values) + "\n"
