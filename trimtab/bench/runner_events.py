"""The lines that the runner prints: which there are, what each holds, in which order they come.

This table is the one description of the protocol: what a device prints is checked against it, line
by line, and docs/runner.md shows it. The runner (runtime/app) may be of another version, and its
output may have been cut or garbled on the way, so nothing is believed: a line that is too long, not
JSON, unknown, of a wrong type, out of range or out of order ends the reading there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.results.records import Event

MAX_LINE_BYTES = 4096  # the runner's own buffer holds no more
MAX_OUTPUT_BYTES = 64 << 20  # a million runs, the most that can be asked for, print 55 MB
_MAX_NUMBER = (1 << 63) - 1
_MAX_TEXT = 1024


@dataclass(frozen=True)
class Kind:
    """What the value of a field may be: `text` says it, `accepts` checks it."""

    text: str
    accepts: Callable[[Any], bool]


@dataclass(frozen=True)
class Field:
    """One key of a line; `note` says what it means where the name does not."""

    name: str
    kind: Kind
    note: str = ""
    is_optional: bool = False


@dataclass(frozen=True)
class Line:
    """One event: when it comes, how often, and with which fields.

    Lines come in the order of `LINES`. `least`: so many there are before `end`; `most`: None is any
    number.
    """

    event: str
    when: str
    fields: tuple[Field, ...]
    least: int = 1
    most: int | None = 1


def _number(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= _MAX_NUMBER


def _or_null(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or accepts(value)


def _is_text(value: Any) -> bool:
    """Whether it can be shown: a control character or half a surrogate may do harm there."""
    return (
        isinstance(value, str)
        and len(value) <= _MAX_TEXT
        and not any(ord(c) < 32 or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000 for c in value)
    )


def _is_list(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(accepts(item) for item in value)


def _is_reading(value: Any) -> bool:
    """`[count, enabled_ns, running_ns]`, as perf_event_open(2) has them."""
    return _is_list(_number(0))(value) and len(value) == 3 and value[2] <= value[1]


def _is_span(value: Any) -> bool:
    """`[begin, end]`."""
    return _is_list(_number(0))(value) and len(value) == 2 and value[0] <= value[1]


_POSITIVE = Kind("at least 1", _number(1))
_COUNT = Kind("at least 0", _number(0))
_COUNT_OR_NULL = Kind("at least 0, or null", _or_null(_number(0)))
_TEXT = Kind(f"text of at most {_MAX_TEXT} characters", _is_text)
_NAMES = Kind("list of texts", _is_list(_is_text))
_READINGS = Kind("list of [count, enabled_ns, running_ns] or null", _is_list(_or_null(_is_reading)))
_SPANS = Kind("list of [begin, end] or null", _is_list(_or_null(_is_span)))

_INSTRUCTIONS = Field("instructions", _COUNT_OR_NULL)
_COUNTERS = Field("counters", _READINGS, "with `--counters`", is_optional=True)
_SPAN = (Field("ns", _POSITIVE), _INSTRUCTIONS, _COUNTERS)
_RUN = (Field("i", _COUNT), *_SPAN)

LINES: tuple[Line, ...] = (
    Line(
        "start",
        "first",
        (
            Field("version", _TEXT),
            Field("schema", _TEXT, "hash of the operator schemas"),
            Field("threads", _POSITIVE),
            Field("affinity", _TEXT, 'cores that the kernel lets it run on; "": not told'),
            Field("cpu_features", _NAMES),
        ),
    ),
    Line("load", "the model is loaded and checked, its weights are packed", _SPAN),
    Line(
        "memory",
        "after loading",
        (
            Field("arena_bytes", _COUNT),
            Field("arena_lower_bound_bytes", _COUNT, "largest sum of live tensors"),
            Field("weights_bytes", _COUNT, "of the file"),
            Field("prepared_bytes", _COUNT, "weights that were packed at load, beside the file"),
        ),
    ),
    Line(
        "verify",
        "the weights are compared with their checksum, unless `--trust`",
        _SPAN,
        least=0,
    ),
    Line("first", "after the first run", _RUN),
    Line("warmup", "after each run to warm up", _RUN, least=0, most=None),
    Line("run", "after each run of the steady state", _RUN, most=None),
    Line(
        "op",
        "after each operator, with `--per-op`",
        (
            Field("run", _COUNT),
            Field("index", _COUNT),
            Field("id", _COUNT, "permanent number of its type"),
            Field("name", _TEXT, '"" in builds without strings'),
            # A view may take less than the clock can tell.
            Field("ns", _COUNT),
            _INSTRUCTIONS,
            _COUNTERS,
            Field(
                "shares",
                _SPANS,
                "of each thread, where there are several: from when it began its first share of "
                "the operator until it ended its last, in ns since the operator began; null: it "
                "had none",
                is_optional=True,
            ),
        ),
        least=0,
        most=None,
    ),
    Line(
        "peak",
        "near the end",
        (
            Field("vm_hwm_bytes", _COUNT_OR_NULL, "null: the kernel does not tell"),
            Field(
                "rss_file_bytes",
                _COUNT_OR_NULL,
                "what is resident then of mapped files: binary, model, inputs",
                is_optional=True,  # records of before there was such
            ),
        ),
    ),
    Line("end", "last", (Field("status", _TEXT, '"OK"'),)),
    Line(
        "error",
        "last, when it failed",
        (Field("code", _COUNT), Field("message", _TEXT)),
        least=0,
    ),
)
_RANKS: Mapping[str, int] = {line.event: rank for rank, line in enumerate(LINES)}


@dataclass(frozen=True)
class Reading:
    """What was read: the events up to the first line that is wrong, and what is wrong with it."""

    events: tuple[Event, ...]
    wrong: str | None


def read(output: bytes) -> Reading:
    """Check all that a runner printed, line by line. Whether it came to its end is not asked."""
    events: list[Event] = []
    counts = dict.fromkeys(_RANKS, 0)
    for number, line in enumerate(output[:MAX_OUTPUT_BYTES].splitlines(), 1):
        try:
            event = _parse(line)
            _check_order(event, events, counts)
        except (ValueError, RecursionError) as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else error
            return Reading(tuple(events), f"line {number}: {why}: {line[:80]!r}")
        counts[event["event"]] += 1
        events.append(event)
    if len(output) > MAX_OUTPUT_BYTES:
        return Reading(tuple(events), f"more than {MAX_OUTPUT_BYTES} bytes were printed")
    return Reading(tuple(events), None)


def missing(events: Sequence[Event]) -> list[str]:
    """The events that a whole launch has and this one lacks."""
    seen = {event["event"] for event in events}
    return [line.event for line in LINES if line.least and line.event not in seen]


def _parse(line: bytes) -> Event:
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"longer than {MAX_LINE_BYTES} bytes")
    event: Any = json.loads(line, parse_constant=_reject, object_pairs_hook=_unique)
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise ValueError("not an event")
    if event["event"] not in _RANKS:
        raise ValueError("an unknown event")
    fields = LINES[_RANKS[event["event"]]].fields
    for field in fields:
        if field.name in event:
            if not field.kind.accepts(event[field.name]):
                raise ValueError(f"{field.name} must be {field.kind.text}")
        elif not field.is_optional:
            raise ValueError(f"{event['event']} without {field.name}")
    if event.keys() - {field.name for field in fields} - {"event"}:
        raise ValueError(f"{event['event']} with an unknown field")
    return event


def _check_order(event: Event, before: Sequence[Event], counts: Mapping[str, int]) -> None:
    kind = event["event"]
    line = LINES[_RANKS[kind]]
    last = before[-1]["event"] if before else None
    if last in ("end", "error"):
        raise ValueError(f"{kind} after {last}")
    if last is not None and _RANKS[kind] < _RANKS[last]:
        raise ValueError(f"{kind} after {last}")
    if line.most is not None and counts[kind] == line.most:
        raise ValueError(f"{kind} for the second time")
    if kind != "error":
        for earlier in LINES[: _RANKS[kind]]:
            if counts[earlier.event] < earlier.least:
                raise ValueError(f"{kind} before any {earlier.event}")
    if "i" in event and event["i"] != counts[kind]:
        raise ValueError(f"{kind} {event['i']} where {counts[kind]} comes next")


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _reject(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
