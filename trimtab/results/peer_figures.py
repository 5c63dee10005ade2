"""Figures of other engines that ran on a device beside trimtab: the JSON of `bench.peers`.

{"device": "pi4", "rows": [{"network": "squeezenet", "engine": "ncnn 1.0", "precision": "f32",
 "threads": 1, "p50_ns": 21e6, "trimtab_ns": 18e6, "instructions": null,
 "trimtab_instructions": null, "cpu_ns": 21e6, "trimtab_cpu_ns": 18e6, "waiting_cores": 0.0}]}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab import files, strict_json
from trimtab.errors import ResultError

_HINT = "write it with: ./inv bench.peers --device NAME --json > FILE"
_NUMBERS = ("p50_ns", "trimtab_ns", "instructions", "trimtab_instructions")
_CPU = ("cpu_ns", "trimtab_cpu_ns", "waiting_cores")  # earlier files have none
_MAX = 1e18


@dataclass(frozen=True)
class PeerFigure:
    """An inference of another engine, and of trimtab in the same interleaved measurement.

    Times are medians; instructions stand for them under an emulator. `cpu_ns`: of all threads;
    `waiting_cores`: those that the engine keeps busy while it waits for the next frame. None where
    nobody measured it. `build`: what trimtab's binary was built for, in words; "" in earlier files.
    """

    device: str
    network: str
    engine: str
    precision: str
    threads: int
    p50_ns: float | None
    trimtab_ns: float | None
    instructions: float | None
    trimtab_instructions: float | None
    cpu_ns: float | None = None
    trimtab_cpu_ns: float | None = None
    waiting_cores: float | None = None
    build: str = ""

    @property
    def ratio(self) -> float | None:
        """The cost of trimtab divided by that of the other engine."""
        if self.p50_ns and self.trimtab_ns:
            return self.trimtab_ns / self.p50_ns
        if self.instructions and self.trimtab_instructions:
            return self.trimtab_instructions / self.instructions
        return None


def read(path: Path) -> list[PeerFigure]:
    """The figures of a file; ResultError if it is missing or has another form."""
    with files.access(path, error=ResultError, hint=_HINT):
        text = path.read_text(encoding="utf-8", errors="replace")
    try:
        whole = strict_json.loads(text)
        return [_figure(whole["device"], row) for row in whole["rows"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ResultError(
            f"not a file of peers' figures: {type(error).__name__}: {error}",
            where=str(path),
            hint=_HINT,
        ) from error


def _figure(device: Any, row: Mapping[str, Any]) -> PeerFigure:
    texts = [device, *(row[name] for name in ("network", "engine", "precision"))]
    texts.append(row.get("build", ""))
    values = {name: row[name] for name in _NUMBERS} | {name: row.get(name) for name in _CPU}
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("`name` must be a string")
    if type(row["threads"]) is not int:
        raise TypeError("`threads` must be an integer")
    for name, number in values.items():
        if number is None or (number == 0 and name in _CPU):
            continue
        if not (type(number) in (int, float) and 0 < number < _MAX):
            raise ValueError(f"{number!r:.60} is neither a count nor a time")
    network, engine, precision, build = texts[1:]
    return PeerFigure(device, network, engine, precision, row["threads"], **values, build=build)
