"""The clock of this process: the Python engine runs every plan, without a compiler or a device."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from trimtab import importers
from trimtab.bench import golden
from trimtab.bench.golden import Array, Golden
from trimtab.engine import engine
from trimtab.errors import WrongOutputError
from trimtab.program import Program
from trimtab.session import Session
from trimtab.target import Target
from trimtab.tuning.clock import TimedBlock, WrongPlanError

LAUNCH_NS = 60e6  # duration of the timed runs of one launch
MIN_RUNS, MAX_RUNS = 5, 100


class SessionClock:
    """Times plans in sessions of this process. A launch opens the model anew, so that each has its
    own place in memory, as those of a device.
    """

    unit = "ns"

    def __init__(self, expected: Golden, target: Target) -> None:
        """`expected`: inputs, and the outputs that every plan must compute."""
        self._expected, self._threads = expected, target.threads
        self.core = target.core.name
        self._coin = random.Random()

    @property
    def compiler(self) -> str:
        """See `Clock`."""
        return str(engine().compiler)

    def carry(self, program: Program) -> None:
        """See `Clock`; the Python engine contains all code."""

    def prepare(self) -> None:
        """See `Clock`."""

    def measure(
        self, programs: Sequence[Program], blocks: int, finished: Callable[[TimedBlock], None]
    ) -> None:
        """See `Clock`."""
        with tempfile.TemporaryDirectory(prefix="trimtab-") as name:
            paths = [Path(name) / f"plan{i}.ttm" for i in range(len(programs))]
            for program, path in zip(programs, paths, strict=True):
                program.save(path)
            runs = [self._checked(index, path) for index, path in enumerate(paths)]
            for _ in range(blocks):
                times: list[dict[int, float]] = [{} for _ in paths]
                forward = self._coin.sample(range(len(paths)), len(paths))
                for index in (*forward, *reversed(forward)):
                    launch = self._launch(paths[index], runs[index])
                    earlier = times[index]
                    times[index] = {i: min(v, earlier.get(i, v)) for i, v in launch.items()}
                finished(TimedBlock.of(times))

    def _checked(self, index: int, path: Path) -> int:
        """The number of runs of a launch; WrongPlanError for wrong outputs."""
        session = self._session(path)
        outputs = session.run(self._inputs(session))
        for i, name in enumerate(self._expected.output_names):
            raw = np.ascontiguousarray(outputs[name]).tobytes()
            try:
                golden.check(self._expected, i, raw)
            except WrongOutputError as error:
                raise WrongPlanError(index, error) from error
        total = sum(session.time_operators())
        return round(min(max(LAUNCH_NS / max(total, 1.0), MIN_RUNS), MAX_RUNS))

    def _launch(self, path: Path, runs: int) -> Mapping[int, float]:
        """The lower quartile of each operator's times."""
        session = self._session(path)
        session.run(self._inputs(session))
        session.time_operators()
        samples = np.array([session.time_operators() for _ in range(runs)])
        typical = np.quantile(samples, 0.25, axis=0)
        ops = session.program.ops
        steps = [i for i, op in enumerate(ops) if not op.schema.prepares]
        return {i: float(typical[i]) for i in steps}

    def _session(self, path: Path) -> Session:
        return Session(importers.load(path), threads=self._threads)

    def _inputs(self, session: Session) -> Mapping[str, Array]:
        return dict(zip(session.input_names, self._expected.inputs, strict=True))
