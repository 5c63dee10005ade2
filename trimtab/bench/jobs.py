"""The input of a measurement: subjects, settings, and the schedule of launches."""

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
from trimtab.bench.pace import Pace
from trimtab.devices.control import Control
from trimtab.errors import UsageError
from trimtab.results.footprint import Footprint
from trimtab.results.records import choices_in_words

MAX_THREADS = 64  # the runner's limit


@dataclass(frozen=True)
class Subject:
    """A binary and its model, and how they were built.

    `operators` are labels in program order, since the binary may hold no names. `network` describes
    each operator and the memory of tensors (`trimtab.program.inspection.network`). `size` is
    {"file_bytes", "sections": {name: bytes}, "groups": {name: bytes}}, or empty if unknown.
    `shipped` are the footprints of this build and of its alternatives. `accuracy` is that of the
    model against the float32 network, None without samples; `search` is the precision search.
    `made_from` is the recipe, with which `./inv verify` repeats the build.
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
    made_from: Mapping[str, Any] = field(default_factory=dict)

    @property
    def build(self) -> str:
        """The choices and the core that the binary was built for, in words."""
        choices = choices_in_words(self.made_from.get("choices", {}))
        return ", ".join([*choices.values(), self.cpu])


@dataclass(frozen=True)
class Settings:
    """How long and how to measure; None is a default that depends on the device (see `resolved`).

    `runs` and `min_time_ms` are totals, split evenly among the launches; `warmup` is per launch.
    `accept_wrong`: measure a float32 binary although its outputs are wrong. `pace`: frames that
    arrive at a fixed rate, in one launch; `launches`, `runs` and `min_time_ms` do not apply then.
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
    accept_wrong: bool = False
    pace: Pace | None = None
    control: Control = field(default_factory=Control)

    def __post_init__(self) -> None:
        """Raises UsageError for values that the runner would refuse."""
        for name, value, minimum in (
            ("threads", self.threads, 1),
            ("launches", self.launches, 1),
            ("warmup", self.warmup, 0),
            ("runs", self.runs, 1),
            ("min-time-ms", self.min_time_ms, 0),
            ("timeout", self.timeout_s, 1),
        ):
            if value is not None and not minimum <= value < math.inf:
                raise UsageError(f"{name} is {value}, it must be at least {minimum}, and finite")
        if self.threads > MAX_THREADS:
            raise UsageError(f"threads is {self.threads}, it must be at most {MAX_THREADS}")

    def resolved(self, *, is_emulated: bool) -> Settings:
        """The settings with defaults filled in.

        Hardware gets 10 launches with 3 warm-up runs each, and at least 30 runs and 5 s in total.
        An emulator gets 2 runs: its times mean nothing, and two equal instruction counts show that
        counts are exact.
        """
        launches, warmup, runs, min_time_ms = (1, 0, 2, 0) if is_emulated else (10, 3, 30, 5000)
        if self.pace:
            launches, runs, min_time_ms = 1, 1, math.ceil(1000 * self.pace.seconds)
        return dataclasses.replace(
            self,
            launches=launches if self.launches is None or self.pace else self.launches,
            warmup=warmup if self.warmup is None else self.warmup,
            runs=runs if self.runs is None or self.pace else self.runs,
            min_time_ms=min_time_ms if self.min_time_ms is None or self.pace else self.min_time_ms,
        )

    def counted(self) -> Settings:
        """The settings for exact counts: the default number of runs replaces that for times."""
        return dataclasses.replace(self, launches=None, warmup=None, runs=None, min_time_ms=None)

    def steady(self, base: runner.Command) -> runner.Command:
        """The runner command of one launch; the settings are resolved."""
        launches = self.launches or 1
        return dataclasses.replace(
            base,
            warmup=self.warmup or 0,
            runs=math.ceil((self.runs or 1) / launches),
            min_time_ms=math.ceil((self.min_time_ms or 0) / launches),
            per_op=self.per_op,
            period_us=self.pace.period_us if self.pace else 0,
        )


@dataclass(frozen=True)
class Job:
    """A subject to measure, and its expected output.

    `role` goes into the record's `protocol`, such as the arm of a comparison.
    """

    subject: Subject
    expected: Golden
    settings: Settings
    role: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ScheduledLaunch:
    """One launch of a schedule.

    `job` is an index. `cpus` are the cores to run on, "" for those of the device's control. `tags`
    go into the record: the block, and the position in the order of launches.
    """

    job: int
    cpus: str = ""
    tags: Mapping[str, Any] = field(default_factory=dict)


Schedule = Sequence[Sequence[ScheduledLaunch]]
"""Launches in order; those of one entry run at the same time."""
