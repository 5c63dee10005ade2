"""The runner's protocol: every line is checked, and nothing a device prints does harm."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trimtab.bench import runner, runner_events
from trimtab.devices import CommandResult
from trimtab.errors import DeviceTimeoutError, RunnerError

MEMORY = {"arena_bytes": 1, "arena_lower_bound_bytes": 1, "weights_bytes": 0, "prepared_bytes": 0}
SPAN = {"ns": 5, "instructions": None}
OP = {"run": 0, "index": 0, "id": 3, "name": "conv [1]", "ns": 0, "instructions": 7}
WHOLE: list[dict[str, Any]] = [
    {
        "event": "start",
        "version": "1",
        "schema": "0f",
        "threads": 1,
        "affinity": "0-3",
        "cpu_features": ["neon"],
    },
    {"event": "load", **SPAN},
    {"event": "memory", **MEMORY},
    {"event": "verify", **SPAN},
    {"event": "first", "i": 0, **SPAN},
    {"event": "warmup", "i": 0, **SPAN},
    {"event": "run", "i": 0, **SPAN, "counters": [[9, 100, 50], None]},
    {"event": "run", "i": 1, **SPAN, "counters": [None, [0, 0, 0]]},
    {"event": "cpu", "ns": 0, "runs": 2, "wall_ns": 5},
    {"event": "op", **OP},
    {"event": "op", **OP, "shares": [[0, 9], None]},
    {"event": "output", "i": 0, "dims": [3, 0]},
    {"event": "output", "i": 1, "dims": []},
    {"event": "peak", "vm_hwm_bytes": None},
    {"event": "end", "status": "OK"},
]
RUN = 6  # where the first one stands


def printed(events: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


STEP = {"event": "step", "steps": 3, "loss_bits": 1065353216, "saved": 1, **SPAN}
TRAINING = [*WHOLE[:4], {**STEP, "i": 0}, {**STEP, "i": 1}, *WHOLE[-2:]]


def test_a_launch_that_trains_has_steps_in_place_of_runs() -> None:
    launch = runner.interpret(CommandResult(0, None, printed(TRAINING), b""), "training")
    assert launch.error is None
    assert list(launch.events) == TRAINING
    assert "step in a launch for inference" in str(interpret(printed(TRAINING)).error)
    inference = CommandResult(0, None, printed(WHOLE), b"")
    assert "first in a launch for training" in str(runner.interpret(inference, "training").error)
    without = CommandResult(0, None, printed([*TRAINING[:4], *TRAINING[6:]]), b"")
    assert "before any step" in str(runner.interpret(without, "training").error)


def interpret(stdout: bytes) -> runner.LaunchResult:
    return runner.interpret(CommandResult(0, None, stdout, b""))


def test_a_complete_launch_is_read_as_printed() -> None:
    launch = interpret(printed(WHOLE))
    assert launch.error is None
    assert list(launch.events) == WHOLE


@pytest.mark.parametrize("missing", ["load", "memory", "first", "run", "cpu", "peak", "end"])
def test_a_launch_without_a_required_event_is_incomplete(missing: str) -> None:
    launch = interpret(printed([event for event in WHOLE if event["event"] != missing]))
    assert isinstance(launch.error, RunnerError)
    assert missing in str(launch.error)


def test_warm_up_runs_and_operators_are_optional() -> None:
    assert (
        interpret(printed([e for e in WHOLE if e["event"] not in ("warmup", "op")])).error is None
    )


# Each takes the place of the first `run`; what comes before it is kept.
BROKEN: list[tuple[bytes | dict[str, Any], str]] = [
    (b"Segmentation fault", "Expecting value"),
    (b"\xff\xfe\x00", "line 7"),
    (b"[" * 4000, "nested too deeply|Expecting"),
    (b'{"event":' * 400, "nested too deeply|Expecting"),
    (b'{"event":"run","i":' + b"9" * 400 + b',"ns":1,"instructions":null}', "i must be at least 0"),
    (b'{"event":"run","i":0,"ns":' + b"9" * 400 + b',"instructions":null}', "ns must be"),
    (b'{"event":"run","i":0,"ns":1e400,"instructions":null}', "ns must be at least 1"),
    (b'{"event":"run","i":0,"ns":NaN,"instructions":null}', "not a JSON number"),
    (b'{"event":"run","i":0,"ns":1,"ns":2,"instructions":null}', "duplicate key"),
    (b'{"event":"run","pad":"' + b"x" * 5000 + b'"}', "longer than 4096"),
    (b"[1, 2]", "not an event"),
    (b'{"event": 3}', "not an event"),
    ({"event": "launch"}, "unknown event"),
    ({"event": "run", "i": 0, "ns": 0, "instructions": None}, "ns must be at least 1"),
    ({"event": "run", "i": 0, "ns": -4, "instructions": None}, "ns must be at least 1"),
    ({"event": "run", "i": 0, "ns": True, "instructions": None}, "ns must be at least 1"),
    ({"event": "run", "i": 0, "ns": 1.5, "instructions": None}, "ns must be at least 1"),
    ({"event": "run", "i": 0, "ns": 1 << 63, "instructions": None}, "ns must be at least 1"),
    ({"event": "run", "i": 0, "ns": 5, "instructions": -1}, "instructions must be"),
    ({"event": "run", "i": 0, "ns": 5}, "without instructions"),
    ({"event": "run", "i": 0, **SPAN, "color": "red"}, "unknown field"),
    ({"event": "run", "i": 1, **SPAN}, "run 1 instead of 0"),
    ({"event": "run", "i": 0, **SPAN, "counters": [[1, 2]]}, "counters must be"),
    ({"event": "run", "i": 0, **SPAN, "counters": [[1, 2, 3]]}, "counters must be"),
    ({"event": "run", "i": 0, **SPAN, "counters": [[-1, 2, 1]]}, "counters must be"),
    ({"event": "run", "i": 0, **SPAN, "counters": {}}, "counters must be"),
    ({"event": "load", **SPAN}, "load after warmup"),
    ({"event": "op", **OP}, "op before any run"),
    ({"event": "op", **OP, "shares": [[9, 0]]}, "shares must be"),
    ({"event": "op", **OP, "shares": [[0, 9, 9]]}, "shares must be"),
    ({"event": "end", "status": "OK"}, "end before any run"),
    ({"event": "error", "code": 3, "message": "\x1b[2J"}, "message must be text"),
    ({"event": "error", "code": 3, "message": "\ud800"}, "message must be text"),
    ({"event": "error", "code": 3, "message": "x" * 1025}, "message must be text"),
]


@pytest.mark.parametrize(("line", "says"), BROKEN)
def test_a_line_that_is_not_in_the_protocol_ends_the_reading(
    line: bytes | dict[str, Any], says: str
) -> None:
    text = line if isinstance(line, bytes) else json.dumps(line).encode()
    launch = interpret(printed(WHOLE[:RUN]) + text + b"\n" + printed(WHOLE[RUN:]))
    assert isinstance(launch.error, RunnerError)
    with pytest.raises(RunnerError, match=says):
        raise launch.error
    assert "line 7" in str(launch.error)
    assert len(str(launch.error)) < 400
    assert list(launch.events) == WHOLE[:RUN]


@pytest.mark.parametrize("event", WHOLE, ids=lambda event: event["event"])
def test_no_event_comes_before_start_or_after_the_end(event: dict[str, Any]) -> None:
    if event["event"] != "start":
        assert runner_events.read(printed([event])).error is not None
    assert runner_events.read(printed([*WHOLE, event])).error is not None


def test_an_error_may_come_at_any_time_and_nothing_behind_it() -> None:
    error = {"event": "error", "code": 9, "message": "no kernel"}
    for count in range(len(WHOLE) - 1):
        launch = interpret(printed([*WHOLE[:count], error]))
        assert "no kernel" in str(launch.error)
    assert runner_events.read(printed([error, error])).error is not None


def test_output_without_an_end_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    head = printed(WHOLE[:RUN])
    monkeypatch.setattr(runner_events, "MAX_OUTPUT_BYTES", len(head))
    launch = interpret(head + printed(WHOLE[RUN:]))
    assert f"more than {len(head)} bytes" in str(launch.error)
    assert list(launch.events) == WHOLE[:RUN]


def test_output_before_a_timeout_is_kept_without_the_incomplete_line() -> None:
    error = DeviceTimeoutError("no end")
    launch = runner.cut_off(printed(WHOLE[:RUN]) + b'{"event":"run","i"', error)
    assert list(launch.events) == WHOLE[:RUN]
    assert launch.error is error


@pytest.mark.parametrize("code", [126, 127])
def test_a_runner_that_the_device_cannot_start_has_a_hint(code: int) -> None:
    result = CommandResult(code, None, b"", b"sh: ./x: Permission denied")
    error = runner.interpret(result).error
    assert error is not None
    assert "cannot start the runner" in error.what
    assert "Permission denied" in error.what
    assert "`noexec`" in error.hint
