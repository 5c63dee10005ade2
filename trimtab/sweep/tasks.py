"""What a sweep asks for and gets: builds and measurements, as messages between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.bench.jobs import Settings
from trimtab.sweep.bundle import Bundle
from trimtab.sweep.matrix import Cell


@dataclass(frozen=True)
class Identity:
    """A build by the hashes of what it made, in hex; `seconds` that it took."""

    binary_sha256: str
    model_sha256: str
    seconds: float


@dataclass(frozen=True)
class BuildTask:
    """A cell to be built, whose device does not matter. `network`: the model with what lies beside
    it, None for one of the zoo; `plan`: its plan file, if it has one. `sources`: the trimtab that
    has to build it.
    """

    cell: Cell
    network: Bundle | None
    plan: Bundle | None
    sources: str


@dataclass(frozen=True)
class Built:
    """A build as `trimtab.bench.archive` has it."""

    identity: Identity
    kept: Bundle


@dataclass(frozen=True)
class Candidate:
    """A cell that is built. `role`: what its record says of the sweep."""

    cell: Cell
    identity: Identity
    kept: Bundle
    role: Mapping[str, Any]


@dataclass(frozen=True)
class MeasureTask:
    """Cells of one device that are measured in turns, or one alone."""

    device: str
    candidates: tuple[Candidate, ...]
    settings: Settings
    sources: str


@dataclass(frozen=True)
class Measured:
    """The record of a cell: its file's name and content."""

    file_name: str
    content: bytes
