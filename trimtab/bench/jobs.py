"""What is measured: subjects, for how long, and in which order."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab.accuracy import Accuracy, Search
from trimtab.bench import runner
from trimtab.bench.golden import Golden
from trimtab.devices.control import Control
from trimtab.errors import UsageError
from trimtab.results.footprint import Footprint

MAX_THREADS = 64  # of the runner


@dataclass(frozen=True)
class Subject:
    """What is measured: a runner and its model, and how they were made.

    `operators`: a label for each operator of the program, in order, as the binary itself may hold
    no names; `network`: what each of them does, and the memory that tensors hold
    (`trimtab.program.inspection.network`). `size`: {"file_bytes", "sections": {name: bytes},
    "groups": {name: bytes}}, empty when it is not known. `shipped`: this one, and others to set
    beside it. `accuracy`: of the model beside the float32 network, None where no samples told it;
    `search`: of its precisions.
    """

    binary: Path
    model: Path
    is_model_embedded: bool
    profile: str
    toolchain: str
    cpu: str
    compiler: str
    flags: Sequence[str]
    operators: Sequence[str]
    size: dict[str, Any]
    network: dict[str, Any] = field(default_factory=dict)
    shipped: Sequence[Footprint] = ()
    accuracy: Accuracy | None = None
    search: Search | None = None


@dataclass(frozen=True)
class Settings:
    """How long to measure; None takes what suits the device (see `resolved`).

    `runs` and `min_time_ms` are of all launches together, and split evenly; `warmup` is of each.
    """

    threads: int = 1
    launches: int | None = None
    warmup: int | None = None
    runs: int | None = None
    min_time_ms: int | None = None
    timeout_s: float = 600.0
    per_op: bool = False
    counters: bool = False
    energy: bool = False
    control: Control = field(default_factory=Control)

    def __post_init__(self) -> None:
        """Raises UsageError for what the runner would refuse."""
        for name, value, least in (
            ("threads", self.threads, 1),
            ("launches", self.launches, 1),
            ("warmup", self.warmup, 0),
            ("runs", self.runs, 1),
            ("min-time-ms", self.min_time_ms, 0),
            ("timeout", self.timeout_s, 1),
        ):
            if value is not None and not least <= value < math.inf:
                raise UsageError(f"{name} is {value}, it must be at least {least}, and finite")
        if self.threads > MAX_THREADS:
            raise UsageError(f"threads is {self.threads}, the most is {MAX_THREADS}")

    def resolved(self, *, is_emulated: bool) -> Settings:
        """These settings with the defaults filled in.

        On hardware 10 launches, with at least 30 runs and 5 s in all, and 3 runs to warm up in
        each. Under an emulator time means nothing and two equal counts of instructions say that
        they are exact.
        """
        launches, warmup, runs, min_time_ms = (1, 0, 2, 0) if is_emulated else (10, 3, 30, 5000)
        return dataclasses.replace(
            self,
            launches=launches if self.launches is None else self.launches,
            warmup=warmup if self.warmup is None else self.warmup,
            runs=runs if self.runs is None else self.runs,
            min_time_ms=min_time_ms if self.min_time_ms is None else self.min_time_ms,
        )

    def counted(self) -> Settings:
        """The same where nothing is timed: how often is what counting takes, not what times do."""
        return dataclasses.replace(self, launches=None, warmup=None, runs=None, min_time_ms=None)

    def steady(self, base: runner.Command) -> runner.Command:
        """One launch of these settings, which are resolved."""
        launches = self.launches or 1
        return dataclasses.replace(
            base,
            warmup=self.warmup or 0,
            runs=math.ceil((self.runs or 1) / launches),
            min_time_ms=math.ceil((self.min_time_ms or 0) / launches),
            per_op=self.per_op,
        )


@dataclass(frozen=True)
class Job:
    """A subject to be measured, and what it must compute; `role` goes into the record's `protocol`,
    such as the side of a comparison that it is.
    """

    subject: Subject
    expected: Golden
    settings: Settings
    role: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    """One launch of a schedule: of which job, and on which of the cores ("" for all that
    the control of the device chose). `place` goes into the
    record: the block that it belongs to, and where in the order it stood.
    """

    job: int
    cpus: str = ""
    place: Mapping[str, Any] = field(default_factory=dict)


Schedule = Sequence[Sequence[Turn]]
"""Turns in order; those of one entry take place at the same moment."""
