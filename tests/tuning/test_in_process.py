"""`trimtab.tune` on this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.small_programs import Net
from trimtab import passes
from trimtab.errors import UsageError
from trimtab.pipeline.reference import host_output
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.session import Session, optimize
from trimtab.target import Target
from trimtab.tuning.clock import TimedBlock
from trimtab.tuning.session_clock import SessionClock
from trimtab.tuning.timings import Timings


def network() -> Program:
    net = Net(x=(1, 16, 32, 32))
    return net.finish(net.conv(net.conv("x", 32, 3), 32, 1))


def test_the_plan_opens_a_session_that_computes_the_same(tmp_path: Path) -> None:
    program, path = network(), tmp_path / "timings.jsonl"
    plan = trimtab.tune(program, threads=1, minutes=0.05, timings=path)
    assert len(Timings(path)) > 1
    x = np.random.default_rng(1).standard_normal((1, 16, 32, 32), np.float32)
    tuned, untuned = (trimtab.Session(program, plan=p).run(x) for p in (plan, None))
    for name in program.outputs:
        np.testing.assert_allclose(tuned[name], untuned[name], rtol=1e-4, atol=1e-4)


def test_decisions_of_the_given_plan_stay() -> None:
    plan = trimtab.tune(network(), minutes=0.02, plan=Plan(weights_type="f16", threads=2))
    assert (plan.weights_type, plan.threads) == ("f16", 2)


def test_a_planned_program_is_refused() -> None:
    planned = optimize(passes.optimize(network()), Target.host())
    with pytest.raises(UsageError, match="planned already"):
        trimtab.tune(planned)


@pytest.mark.parametrize(("total_ns", "runs"), [(1e9, 5), (1e6, 60), (1e3, 100), (0.0, 100)])
def test_a_launch_has_the_runs_of_60_milliseconds_from_5_to_100(
    total_ns: float, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Session] = []

    def timed(session: Session) -> list[float]:
        calls.append(session)
        return [*[0.0] * (len(session.program.ops) - 1), total_ns]

    monkeypatch.setattr(Session, "time_operators", timed)
    program = network()
    clock = SessionClock(host_output(program, Plan()).within("f32"), Target.host())
    blocks: list[TimedBlock] = []
    clock.measure([optimize(program)], 2, blocks.append)
    # One for the number of runs; in each of two launches of a block, one before those that count.
    assert len(calls) == 1 + 2 * 2 * (1 + runs)
    assert [sum(block.times[0].values()) for block in blocks] == [total_ns] * 2


@pytest.mark.parametrize("wrong", [{"threads": 0}, {"minutes": 0}])
def test_numbers_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="must be above 0"):
        trimtab.tune(network(), **wrong)  # type: ignore[arg-type]
