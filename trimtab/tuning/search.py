"""The search: times alternatives inside of the network, and changes what is measurably faster.

1. Screening: a few blocks of plans that hold one alternative of every layer each.
2. Finals: more blocks of the best alternatives of each layer.
3. An alternative whose interval lies below 1 replaces the present decision, unless the code that it
   adds to the binary costs more than it saves. The search continues from there.
4. Confirmation: new blocks of the rule's plan and the tuned one. A change that does not show there
   as well is reverted: of many intervals, some miss, and the best of several estimates flatters.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trimtab.compare.paired import Effect
from trimtab.errors import DeviceError, PlanError
from trimtab.planner.alternatives import Choices, DecidedPlan
from trimtab.planner.code_bytes import called_kernels
from trimtab.planner.cost import last_level
from trimtab.progress import SILENT, Progress
from trimtab.results.statistics import Interval
from trimtab.tuning import code_price
from trimtab.tuning.clock import Clock, TimedBlock, WrongPlanError
from trimtab.tuning.code_price import Saving
from trimtab.tuning.confirmation import Change, by_output, confirmed
from trimtab.tuning.contests import Contest, compose, contests
from trimtab.tuning.layers import Layers, Named, code_of
from trimtab.tuning.timings import Key, Timings

SCREEN_BLOCKS, FINAL_BLOCKS = 3, 9
MAX_PLANS = 8  # of one round, beside the present plan
MIN_GAIN = 0.01  # of a layer; a smaller one is not worth a change
MIN_COUNTED_GAIN = 0.001  # the same for executed instructions, which are exact
MIN_SHARE = 0.002  # of the network; a faster layer of less would not be noticed
FINALISTS = 2  # of each layer
MAX_STEPS = 4  # of the search
_MAX_THROTTLED = 5  # first blocks in a row
_ROUND_BYTES = 1 << 31  # constants of all plans of one round


@dataclass(frozen=True)
class SearchResult:
    """The result of a search. `changes`: what differs from the rule's plan, with the confirmed
    effects; `alternatives`: all with a final estimate; `measured`, `reused`: number of
    contests that were measured, and that earlier timings decided; `is_complete`: time sufficed;
    `total`: time of all operators with the rule's plan, in the clock's unit; `launch_s`: duration
    of a plan's launch in a block.
    """

    rule: DecidedPlan
    plan: DecidedPlan
    changes: Sequence[Change]
    alternatives: Sequence[Change]
    measured: int
    reused: int
    is_complete: bool
    total: float
    launch_s: float


@dataclass
class _TimedContest:
    """A contest with the keys of its timings, and the decisions in words."""

    contest: Contest
    base: Key
    key: Key
    before: Named
    after: Named


@dataclass
class PlanSearch:
    """One search. `seconds`: limit of its duration, with the builds of runners; builds and blocks
    that have begun are completed.
    `has_all_code`: an engine that contains all code runs the plan, so code has no price.
    """

    rule: DecidedPlan
    clock: Clock
    timings: Timings
    seconds: float
    progress: Progress = SILENT
    has_all_code: bool = False
    _present: DecidedPlan = field(init=False)
    _times: dict[str, float] = field(init=False, default_factory=dict)
    _results: dict[str, Change] = field(init=False, default_factory=dict)
    _block_s: float = field(init=False, default=0.0)

    def run(self) -> SearchResult:
        """Searches until nothing improves or the time is over; errors of the clock."""
        self._present, self._end = self.rule, time.monotonic() + self.seconds
        self._measured, self._reused = set[str](), set[str]()
        self._is_complete = True
        timed = self._named(self._contests(0.0))
        self._time_rule()
        for _ in range(MAX_STEPS):
            if not self._step(timed):
                break
            timed = self._named(self._contests(MIN_SHARE))
        changes = self._confirm()
        regions = {change.region for change in changes}
        alternatives = [
            replace(change, is_kept=any(change.region <= region for region in regions))
            for change in self._results.values()
        ]
        return SearchResult(
            self.rule,
            self._present,
            changes,
            sorted(alternatives, key=lambda one: -one.saved),
            len(self._measured),
            len(self._reused - self._measured),
            self._is_complete,
            sum(self._times.values()),
            self._block_s,
        )

    @property
    def _is_exact(self) -> bool:
        return self.clock.unit == "instructions"

    @property
    def _min_gain(self) -> float:
        return MIN_COUNTED_GAIN if self._is_exact else MIN_GAIN

    def _contests(self, min_share: float) -> list[Contest]:
        """The contests of the present plan that were not tried yet."""
        alternatives = self._present.alternatives()
        every = contests(self._present, alternatives, self._times, min_share)
        return [
            one
            for one in every
            if one.id not in self._results
            # Counts do not show what an order of instructions gains.
            and not (self._is_exact and one.alternatives[0].is_unscheduled)
        ]

    def _time_rule(self) -> None:
        """The time of each operator of the rule's plan, for the shares, and that of a launch."""
        self.clock.carry(self.rule.planned)
        self.clock.prepare()
        blocks: list[tuple[float, TimedBlock]] = []
        for _ in range(_MAX_THROTTLED):
            begin = time.monotonic()
            self.clock.measure(
                [self.rule.planned], 2, lambda block: blocks.append((time.monotonic(), block))
            )
            if blocks:
                break
        else:
            raise DeviceError(
                "the device throttles, so nothing can be timed",
                where=self.clock.core,
                hint="cool it, or tune on slower cores: --cores, --governor",
            )
        (end, last), before = blocks[-1], blocks[-2][0] if len(blocks) > 1 else begin
        self._block_s = end - before
        self._times = by_output(self.rule, last.times[0])

    def _step(self, timed: Sequence[_TimedContest]) -> bool:
        """One step of the search; whether it has changed the plan."""
        shares = {one.id: one for one in self._contests(MIN_SHARE)}
        timed = [
            replace(one, contest=shares[one.contest.id])
            for one in timed
            if one.contest.id in shares
        ]
        timed.sort(key=lambda one: (-one.contest.share, one.contest.ratio))
        timed = self._measure(timed, SCREEN_BLOCKS)
        finalists = self._finalists(timed)
        finalists = self._measure(finalists, FINAL_BLOCKS)
        for one in timed:
            if effect := self._effect(one):
                self._results[one.contest.id] = _change(one, effect)
        winners = self._winners(finalists)
        if not winners:
            return False
        choices = self._present.choices
        for one in winners:
            choices = one.contest.applied(choices)
        self._present = self._present.with_choices(choices)
        return True

    def _named(self, chosen: Sequence[Contest]) -> list[_TimedContest]:
        """The contests with their keys; those that no plan can hold are left out."""
        layers, base = Layers(self._present), self._present.planned
        core, target = self.clock.core, self.rule.target
        is_resident = self.rule.program.constant_bytes() <= last_level(target)
        where = (core, target.threads, self.clock.unit, "resident" if is_resident else "streamed")
        result = []
        for group in compose(chosen, len(chosen)):
            for members, plan in self._plans(group):
                self.clock.carry(plan.planned)
                for contest in members:
                    region = contest.alternatives[0].region
                    before, after = (
                        code_of(planned, region, self.clock.compiler)
                        for planned in (base, plan.planned)
                    )
                    layer = layers.layer(region)
                    if before.digest != after.digest:
                        keys = [Key(*where, layer.digest, code.digest) for code in (before, after)]
                        result.append(_TimedContest(contest, keys[0], keys[1], before, after))
        order = {contest.id: i for i, contest in enumerate(chosen)}
        return sorted(result, key=lambda one: order[one.contest.id])

    def _plans(self, group: list[Contest]) -> Iterator[tuple[list[Contest], DecidedPlan]]:
        """The plan of several contests, or, if it is not possible, of each alone where that is."""
        try:
            yield group, self._present.with_choices(_applied(self._present.choices, group))
        except PlanError:
            for one in group if len(group) > 1 else ():
                yield from self._plans([one])

    def _measure(self, timed: Sequence[_TimedContest], blocks: int) -> list[_TimedContest]:
        """Measures contests until each has this number of blocks, those of earlier runs included;
        returns those that have an effect then.
        """
        blocks = 1 if self._is_exact else blocks
        missing = [one for one in timed if self._common(one) < blocks]
        self._reused |= {one.contest.id for one in timed} - {one.contest.id for one in missing}
        while missing:
            by_id = {one.contest.id: one for one in missing}
            constants = self.rule.program.constant_bytes() or 1
            limit = max(1, min(MAX_PLANS, _ROUND_BYTES // constants))
            plans = compose([one.contest for one in missing], limit)
            needed = blocks - min(map(self._common, missing))
            cost_s = self._block_s * (len(plans) + 1)
            affordable = int((self._end - time.monotonic()) / max(cost_s, 1e-3))
            if self._end > time.monotonic() and not self._measured:
                affordable = max(affordable, SCREEN_BLOCKS)
            if affordable < min(needed, 2):
                self._is_complete = False
                break
            self._round(plans, by_id, min(needed, affordable))
            done = {contest.id for plan in plans for contest in plan}
            self._measured |= done
            missing = [one for one in missing if one.contest.id not in done]
        return [one for one in timed if self.timings.effect(one.base, one.key)]

    def _common(self, timed: _TimedContest) -> int:
        return len(self.timings.blocks(timed.base).keys() & self.timings.blocks(timed.key).keys())

    def _effect(self, timed: _TimedContest) -> Effect | None:
        """The effect of a contest; that of counts includes the modeled memory traffic."""
        effect = self.timings.effect(timed.base, timed.key)
        if effect is None or not self._is_exact:
            return effect
        value = timed.contest.counted(effect.value)
        return replace(effect, value=value, interval=Interval(value, value))

    def _round(
        self, plans: list[list[Contest]], by_id: Mapping[str, _TimedContest], blocks: int
    ) -> None:
        """Measures plans beside the present one. A plan with wrong outputs is left out, and the
        others are measured.
        """
        decided = [
            self._present.with_choices(_applied(self._present.choices, plan)) for plan in plans
        ]
        programs = [self._present, *decided]
        for one in decided:
            self.clock.carry(one.planned)
        self.clock.prepare()

        def record(block: TimedBlock) -> None:
            rows: dict[Key, tuple[Key, str, str, float]] = {}
            base = by_output(self._present, block.times[0])
            for plan, program, times in zip(plans, programs[1:], block.times[1:], strict=True):
                own = by_output(program, times)
                for contest in plan:
                    one, count = by_id[contest.id], len(contest.alternatives)
                    for key, code, values in (
                        (one.base, one.before, base),
                        (one.key, one.after, own),
                    ):
                        total = sum(values.get(name, 0.0) for name in contest.region) / count
                        rows[key] = key, contest.layer.text, code.text, total
            self.timings.add(block.id, rows.values())

        begin = time.monotonic()
        try:
            self.clock.measure([one.planned for one in programs], blocks, record)
            self._block_s = (time.monotonic() - begin) / blocks / len(programs)
        except WrongPlanError as error:
            if error.index == 0:
                raise
            left_out = plans[error.index - 1]
            self.progress.note(
                f"{len(left_out)} alternatives are left out: together they compute wrong outputs: "
                f"{error.what}"
            )
            if rest := [plan for plan in plans if plan is not left_out]:
                self._round(rest, by_id, blocks)

    def _finalists(self, timed: Iterable[_TimedContest]) -> list[_TimedContest]:
        """The best alternatives of each layer, if they look faster."""
        by_layer: dict[str, list[tuple[float, _TimedContest]]] = {}
        for one in timed:
            effect = self._effect(one)
            if effect and effect.value < 1 - self._min_gain:
                by_layer.setdefault(one.contest.layer.digest, []).append((effect.value, one))
        return [
            one
            for own in by_layer.values()
            for _, one in sorted(own, key=lambda pair: pair[0])[:FINALISTS]
        ]

    def _winners(self, finalists: Sequence[_TimedContest]) -> list[_TimedContest]:
        """The alternatives to take: measurably faster, without overlaps, and worth their code."""
        faster = [
            (change.saved, one)
            for one in finalists
            if (effect := self._effect(one))
            and effect.exceeds(self._min_gain)
            and effect.value < 1
            and (change := _change(one, effect))
        ]
        faster.sort(key=lambda pair: -pair[0])
        present = _code(self._present, [op.outputs[0] for op in self._present.planned.ops])
        codes = {one.contest.id: self._added_code(one) for _, one in faster}
        banned = set[str]()
        while True:
            chosen: list[tuple[float, _TimedContest]] = []
            for saved, one in faster:
                region = one.contest.region
                is_free = all(region.isdisjoint(other.contest.region) for _, other in chosen)
                if is_free and not codes[one.contest.id] & banned:
                    chosen.append((saved, one))
            savings = [
                Saving(saved, one.contest.region, codes[one.contest.id]) for saved, one in chosen
            ]
            rule = self.rule
            worst = code_price.not_worth(rule.target.arch, present, savings, rule.plan.prefer)
            if worst is None or self.has_all_code:
                return [one for _, one in chosen]
            banned.add(worst)

    def _added_code(self, timed: _TimedContest) -> set[str]:
        """Names of the operators and kernels that an alternative calls, and of those that pack its
        weights at load.
        """
        plan = self._present.with_choices(timed.contest.applied(self._present.choices))
        preparations = {op.type for op in plan.planned.ops if op.schema.prepares}
        preparations -= {op.type for op in self._present.planned.ops}
        return preparations.union(*_code(plan, timed.contest.region).values())

    def _confirm(self) -> list[Change]:
        """Measures the rule's plan and the tuned one anew, reverts changes that do not show, and
        returns the others.
        """
        with self.progress.step("confirm the tuned plan beside the rule's"):
            changes = confirmed(self.rule, self._present, self.clock, self._times)
        choices: Choices = self.rule.choices
        for change in changes:
            rest = {n: c for n, c in choices.items() if n not in change.region}
            own = {n: c for n, c in self._present.choices.items() if n in change.region}
            choices = {**rest, **own}
        self._present = self.rule.with_choices(choices) if changes else self.rule
        return changes


def _applied(choices: Choices, group: Iterable[Contest]) -> Choices:
    for contest in group:
        choices = contest.applied(choices)
    return choices


def _code(plan: DecidedPlan, outputs: Iterable[str]) -> dict[str, set[str]]:
    """Names of the operator and the kernels that compute each of these outputs."""
    names = set(outputs)
    return {
        op.outputs[0]: {op.type, *called_kernels(op)}
        for op in plan.planned.ops
        if op.outputs[0] in names
    }


def _change(timed: _TimedContest, effect: Effect) -> Change:
    contest = timed.contest
    return Change(
        contest.region,
        contest.layer.text,
        timed.before.text,
        timed.after.text,
        contest.share,
        effect,
        len(contest.alternatives),
    )
