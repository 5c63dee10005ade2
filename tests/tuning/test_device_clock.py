"""The clock of a device, with a runner that is a script."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.bench.fakes import make_golden, write_runner
from tests.tuning.networks import by_rule, convolutions
from trimtab.bench.jobs import Settings
from trimtab.build import builder
from trimtab.devices import Device
from trimtab.errors import RunnerCrashedError
from trimtab.pipeline.recipe import Recipe
from trimtab.program import Program
from trimtab.tuning.clock import TimedBlock, WrongPlanError
from trimtab.tuning.device_clock import DeviceClock

# The first operator takes 400 ns, and 2 ns more in each run; the second one twice as much.
TIMES = "was = say; say = lambda e, **f: was(e, **({**f, 'ns': (1 + f['index']) * f['ns']} "
TIMES += "if e == 'op' else f))"


@dataclass
class FakeBuild:
    runner: Path
    compiler: str = "none"
    flags: tuple[str, ...] = ()


def clock(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str = TIMES
) -> tuple[DeviceClock, list[object]]:
    """The clock, and the profiles of its builds."""
    profiles: list[object] = []

    def build(request: object, progress: object) -> FakeBuild:
        profiles.append(request.profile)  # type: ignore[attr-defined]
        return FakeBuild(write_runner(tmp_path, fault))

    monkeypatch.setattr(builder, "build", build)
    settings, info = Settings(timeout_s=20), device.describe()
    own = DeviceClock(device, info, Recipe(model="net"), make_golden(), tmp_path, settings, "fake")
    return own, profiles


def programs() -> list[Program]:
    rule = by_rule(convolutions((8, 8, 1), (8, 16, 1), size=8))
    other = next(one for one in rule.alternatives() if one.is_block_size)
    return [rule.planned, rule.with_choices(other.applied(rule.choices)).planned]


def test_a_block_has_the_time_of_every_operator_of_every_program(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, _ = clock(device, tmp_path, monkeypatch)
    both, blocks = programs(), list[TimedBlock]()
    own.measure(both, 2, blocks.append)
    assert own.unit == "ns"
    assert len({block.id for block in blocks}) == 2
    for block in blocks:
        for program, times in zip(both, block.times, strict=True):
            steps = [i for i, op in enumerate(program.ops) if not op.schema.prepares]
            assert {*times} == {*steps} & {0, 1}, "the script reports the operators 0 and 1"
            for index, value in times.items():
                # The lower quartile of five runs with 400, 402, ... ns.
                assert value in ((1 + index) * 402.0, (1 + index) * 449.5)


def test_a_runner_is_built_again_only_for_new_code(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, profiles = clock(device, tmp_path, monkeypatch)
    first, second = programs()
    winograd = by_rule(convolutions((64, 64, 3))).planned
    own.carry(first)
    own.prepare()
    own.prepare()
    own.measure([first, second], 1, lambda block: None)
    assert len(profiles) == 1
    own.carry(winograd)
    own.prepare()
    assert len(profiles) == 2
    assert "conv_winograd" in profiles[1].ops  # type: ignore[attr-defined]
    assert {*profiles[0].kernels} < {*profiles[1].kernels}  # type: ignore[attr-defined]


def test_the_program_with_wrong_outputs_is_named_before_any_time(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = f"{TIMES}; scale = 3.0 if 'plan1' in ' '.join(args) else 2.0"
    own, _ = clock(device, tmp_path, monkeypatch, wrong)
    blocks: list[TimedBlock] = []
    models = programs()
    sizes = [op.attributes for op in models[1].ops]
    assert sizes
    monkeypatch.setattr(type(device), "push", _named_push(type(device).push))  # type: ignore[no-untyped-call]
    with pytest.raises(WrongPlanError) as error:
        own.measure(models, 1, blocks.append)
    assert error.value.index == 1
    assert blocks == []


def _named_push(real):  # type: ignore[no-untyped-def]
    """A push whose path on the device ends with the local name."""

    def push(self, local, progress=None):  # type: ignore[no-untyped-def]
        pushed = real(self, local)
        if not local.name.startswith("plan"):
            return pushed
        path = Path(pushed.path).parent / local.name
        path.write_bytes(local.read_bytes())
        return replace(pushed, path=str(path))

    return push


def test_blocks_that_are_complete_are_reported_before_the_device_fails(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = tmp_path / "count"
    count.write_text("")
    fault = (
        f"{TIMES}; open({str(count)!r}, 'a').write('x'); "
        f"os.kill(os.getpid(), signal.SIGSEGV) if len(open({str(count)!r}).read()) > 8 else None"
    )
    own, _ = clock(device, tmp_path, monkeypatch, fault)
    blocks: list[TimedBlock] = []
    with pytest.raises(RunnerCrashedError):
        own.measure(programs(), 3, blocks.append)
    assert len(blocks) == 1, "two launches check outputs, four are a block"
