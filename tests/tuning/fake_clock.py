"""A clock with a known time for every decision of a plan, and noise like a machine's."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from trimtab.program import Op, Program
from trimtab.tuning.clock import TimedBlock

Cost = Callable[[Op], float]


class FakeClock:
    """`cost`: the true time of an operator of a plan; `noise`: relative standard deviation of a
    block; `fails_after`: number of blocks after which the device vanishes.
    """

    core = "fake"
    compiler = "fake 1.0"

    def __init__(
        self,
        cost: Cost,
        noise: float = 0.0,
        seed: int = 0,
        unit: str = "ns",
        fails_after: int | None = None,
    ) -> None:
        self.cost, self.noise, self.unit = cost, noise, unit
        self.coin = random.Random(seed)
        self.blocks = 0
        self.launches = 0
        self.fails_after = fails_after
        self.carried = set[int]()
        self.measured: list[tuple[Program, ...]] = []

    def carry(self, program: Program) -> None:
        self.carried.add(id(program))

    def prepare(self) -> None:
        pass

    def measure(
        self, programs: Sequence[Program], blocks: int, finished: Callable[[TimedBlock], None]
    ) -> None:
        self.measured.append(tuple(programs))
        for _ in range(1 if self.unit == "instructions" else blocks):
            if self.fails_after is not None and self.blocks >= self.fails_after:
                raise ConnectionError("the device vanished")
            level = self.coin.lognormvariate(0, 0.05)  # a clock or a load of the whole block
            finished(TimedBlock.of([self._times(program, level) for program in programs]))
            self.blocks += 1
            self.launches += len(programs)

    def _times(self, program: Program, level: float) -> Mapping[int, float]:
        if self.unit == "instructions":
            return {i: float(round(self.cost(op))) for i, op in self._steps(program)}
        return {
            i: self.cost(op) * level * self.coin.lognormvariate(0, self.noise)
            for i, op in self._steps(program)
        }

    def _steps(self, program: Program) -> list[tuple[int, Op]]:
        return [(i, op) for i, op in enumerate(program.ops) if not op.schema.prepares]
