"""Tuning in Python: `trimtab.tune` times plans in sessions of this process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trimtab import importers, passes
from trimtab.compare import paired
from trimtab.compare.paired import Effect
from trimtab.errors import UsageError
from trimtab.importers import Model
from trimtab.pipeline.reference import host_output
from trimtab.planner import planner, precision
from trimtab.planner.alternatives import DecidedPlan
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.progress import SILENT, Progress
from trimtab.target import Target
from trimtab.tuning.clock import Clock, TimedBlock
from trimtab.tuning.search import PlanSearch, SearchResult
from trimtab.tuning.session_clock import SessionClock
from trimtab.tuning.timings import Timings

PROOF_BLOCKS = 12


def tune(
    program: Program | Model,
    threads: int = 1,
    minutes: float = 1.0,
    plan: Plan | None = None,
    timings: str | Path | None = None,
    progress: Progress = SILENT,
) -> Plan:
    """Measures which plan a network runs fastest with in a `Session` of this machine.

    `program`: a program that is not planned, or anything that `load` accepts; `threads`: those of
    the session; `minutes`: limit of the search; `plan`: decisions to keep, such as a precision;
    `timings`: a file that keeps what was measured, for a continuation and for other networks.

    Returns the plan to open the session with: `Session(program, threads, plan)`. It is the one of
    the rules unless the other one is measurably faster. Outputs are compared with those of the
    portable kernels before any time. Other programs should not run meanwhile.

    UsageError for a planned program, and for numbers out of range; errors of `load` and `Session`.
    """
    source = program if isinstance(program, Program) else importers.load(program)
    if source.planned:
        raise UsageError(
            "the program is planned already", hint="load the model that it was planned from"
        )
    if threads < 1 or minutes <= 0:
        raise UsageError(f"threads is {threads} and minutes {minutes}: both must be above 0")
    store = Timings(Path(timings) if timings else None)
    return tuned_here(source, threads, minutes, plan or Plan(), store, progress).plan


@dataclass(frozen=True)
class TunedHere:
    """The result of tuning in this process. `proof`: time of the tuned plan relative to the rule's,
    over all operators; None if nothing changed.
    """

    search: SearchResult
    proof: Effect | None

    @property
    def is_faster(self) -> bool:
        """Whether the tuned plan is measurably faster."""
        return self.proof is not None and self.proof.interval.high < 1

    @property
    def plan(self) -> Plan:
        """The tuned plan if it is faster, else the rule's."""
        return (self.search.plan if self.is_faster else self.search.rule).as_plan()


def tuned_here(
    source: Program,
    threads: int,
    minutes: float,
    chosen: Plan,
    timings: Timings,
    progress: Progress = SILENT,
) -> TunedHere:
    """Tunes a program that is not planned, as `tune` does; the timings are compacted at the end."""
    target = chosen.with_threads(Target.host(threads=threads))
    optimized = precision.assign(
        passes.optimize(source), target, chosen.precision, chosen.precisions
    )
    planned = planner.plan(optimized, target, chosen, has_all_code=True)
    rule = DecidedPlan(optimized, target, chosen, planned)
    is_half = (
        "f16" in (chosen.precision, *chosen.precisions.values()) or chosen.weights_type != "f32"
    )
    expected = host_output(source, chosen).within("f16" if is_half else "f32")
    clock = SessionClock(expected, target)
    with progress.step("tune in this process"):
        search = PlanSearch(rule, clock, timings, minutes * 60, progress, has_all_code=True).run()
    timings.compact()
    return TunedHere(search, proof_of(clock, search))


def proof_of(clock: Clock, search: SearchResult) -> Effect | None:
    """The time of the tuned network relative to that of the rules; None if it has no change."""
    if not search.changes:
        return None
    blocks: list[TimedBlock] = []
    clock.measure([search.rule.planned, search.plan.planned], PROOF_BLOCKS, blocks.append)
    totals = [[[sum(block.times[i].values())] for block in blocks] for i in (0, 1)]
    return paired.effect(*totals)
