"""The events that the runner prints: their fields, and their order.

This table is the single description of the protocol: the output of a device is checked against it
line by line, and docs/runner.md shows it. The runner (runtime/app) may have another version, and
its output may be truncated or garbled, so nothing is trusted. Reading stops at a line that is too
long, is not JSON, has an unknown event or field, a wrong type, or a value out of range, or is out
of order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab import strict_json
from trimtab.results.records import Event

MAX_LINE_BYTES = 4096  # the runner's own buffer holds no more
MAX_OUTPUT_BYTES = 64 << 20  # a million runs, the maximum, print 55 MB
_MAX_NUMBER = (1 << 63) - 1
_MAX_TEXT = 1024
_MAX_DECIMAL = 1e9
INFERENCE, TRAINING = "inference", "training"
"""The kinds of launches."""


@dataclass(frozen=True)
class ValueKind:
    """The values that a field may have: `text` describes them, `accepts` checks one."""

    text: str
    accepts: Callable[[Any], bool]


@dataclass(frozen=True)
class FieldSchema:
    """One key of an event; `note` explains it where the name does not."""

    name: str
    kind: ValueKind
    note: str = ""
    is_optional: bool = False


@dataclass(frozen=True)
class EventSchema:
    """One kind of event: when it is printed, how often, and its fields.

    Events come in the order of `EVENTS`. At least `minimum` come before `end`, and at most
    `maximum`, where None is no limit. `only`: the kind of launch that prints it, "" for each.
    """

    event: str
    when: str
    fields: tuple[FieldSchema, ...]
    minimum: int = 1
    maximum: int | None = 1
    only: str = ""


def _number(minimum: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and minimum <= value <= _MAX_NUMBER


def _or_null(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or accepts(value)


def _is_text(value: Any) -> bool:
    """Whether it is safe to print: without control characters and lone surrogates."""
    return (
        isinstance(value, str)
        and len(value) <= _MAX_TEXT
        and not any(ord(c) < 32 or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000 for c in value)
    )


def _is_decimal(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and abs(value) <= _MAX_DECIMAL)


def _is_list(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(accepts(item) for item in value)


def _is_reading(value: Any) -> bool:
    """`[count, enabled_ns, running_ns]`, as perf_event_open(2) has them."""
    return _is_list(_number(0))(value) and len(value) == 3 and value[2] <= value[1]


def _is_span(value: Any) -> bool:
    """`[begin, end]`."""
    return _is_list(_number(0))(value) and len(value) == 2 and value[0] <= value[1]


_POSITIVE = ValueKind("at least 1", _number(1))
_COUNT = ValueKind("at least 0", _number(0))
_COUNT_OR_NULL = ValueKind("at least 0, or null", _or_null(_number(0)))
_TEXT = ValueKind(f"text of at most {_MAX_TEXT} characters", _is_text)
_NAMES = ValueKind("list of texts", _is_list(_is_text))
_READINGS = ValueKind(
    "list of [count, enabled_ns, running_ns] or null", _is_list(_or_null(_is_reading))
)
_INDEX = ValueKind("at least -1", _number(-1))
_DECIMAL = ValueKind("a number, or null", _is_decimal)
_CORNERS = ValueKind(
    "list of four numbers or null", lambda value: _is_list(_is_decimal)(value) and len(value) == 4
)
_DIMS = ValueKind("list of sizes", _is_list(_number(0)))
_SPANS = ValueKind("list of [begin, end] or null", _is_list(_or_null(_is_span)))

_INSTRUCTIONS = FieldSchema("instructions", _COUNT_OR_NULL)
_COUNTERS = FieldSchema("counters", _READINGS, "with `--counters`", is_optional=True)
_SPAN = (FieldSchema("ns", _POSITIVE), _INSTRUCTIONS, _COUNTERS)
_RUN = (FieldSchema("i", _COUNT), *_SPAN)

EVENTS: tuple[EventSchema, ...] = (
    EventSchema(
        "start",
        "first",
        (
            FieldSchema("version", _TEXT),
            FieldSchema("schema", _TEXT, "hash of the operator schemas"),
            FieldSchema("threads", _POSITIVE),
            FieldSchema("affinity", _TEXT, 'cores that the kernel lets it run on; "": unknown'),
            FieldSchema("cpu_features", _NAMES),
        ),
    ),
    EventSchema("load", "after the model is loaded and checked, and its weights are packed", _SPAN),
    EventSchema(
        "memory",
        "after loading",
        (
            FieldSchema("arena_bytes", _COUNT),
            FieldSchema("arena_lower_bound_bytes", _COUNT, "largest sum of live tensors"),
            FieldSchema("weights_bytes", _COUNT, "weights in the file"),
            FieldSchema(
                "prepared_bytes", _COUNT, "weights packed at load, in addition to the file"
            ),
        ),
    ),
    EventSchema(
        "verify",
        "after the weights are compared with their checksum, unless `--trust`",
        _SPAN,
        minimum=0,
    ),
    EventSchema(
        "step",
        "after each step of a training, with `--train`, in place of runs",
        (
            FieldSchema("i", _COUNT),
            FieldSchema("steps", _POSITIVE, "from the first training of the checkpoint on"),
            FieldSchema("loss_bits", _COUNT, "the loss: the bits of a float32"),
            FieldSchema("saved", _COUNT, "1 if the checkpoint was written after this step"),
            *_SPAN,
        ),
        maximum=None,
        only=TRAINING,
    ),
    EventSchema("first", "after the first run", _RUN, only=INFERENCE),
    EventSchema("warmup", "after each warm-up run", _RUN, minimum=0, maximum=None, only=INFERENCE),
    EventSchema(
        "run",
        "after each run of the steady state",
        (
            *_RUN,
            FieldSchema("frame", _COUNT, "number of its frame, with `--period-us`", True),
            FieldSchema("wait_ns", _COUNT, "from its frame's arrival to the begin", True),
        ),
        maximum=None,
        only=INFERENCE,
    ),
    EventSchema(
        "cpu",
        "after the last run",
        (
            FieldSchema(
                "ns", _COUNT, "CPU time of all threads by run, waiting between runs included"
            ),
            FieldSchema("runs", _POSITIVE),
            FieldSchema("wall_ns", _POSITIVE, "of all these runs"),
        ),
        only=INFERENCE,
    ),
    EventSchema(
        "op",
        "after each operator, with `--per-op`",
        (
            FieldSchema("run", _COUNT),
            FieldSchema("index", _COUNT),
            FieldSchema("id", _COUNT, "permanent number of its type"),
            FieldSchema("name", _TEXT, '"" in builds without strings'),
            # A view may take less than the clock's resolution.
            FieldSchema("ns", _COUNT),
            _INSTRUCTIONS,
            _COUNTERS,
            FieldSchema(
                "shares",
                _SPANS,
                "with several threads, for each: from the begin of its first share of the operator "
                "to the end of its last one, in ns since the operator began; null: no share",
                is_optional=True,
            ),
        ),
        minimum=0,
        maximum=None,
    ),
    EventSchema(
        "box",
        "for each box that a detector's head finds in the picture of `--image`, best first",
        (
            FieldSchema("i", _COUNT),
            FieldSchema("class", _INDEX, "-1: not a class"),
            FieldSchema("label", _TEXT, '"" for a model without names of classes'),
            FieldSchema("score", _DECIMAL),
            FieldSchema("box", _CORNERS, "in pixels of the picture: xmin, ymin, xmax, ymax"),
        ),
        minimum=0,
        maximum=None,
        only=INFERENCE,
    ),
    EventSchema(
        "output",
        "after each output is written, with `--output-dir`, by runners that can run networks whose "
        "sizes depend on data",
        (FieldSchema("i", _COUNT), FieldSchema("dims", _DIMS, "its shape after the last run")),
        minimum=0,
        maximum=None,
        only=INFERENCE,
    ),
    EventSchema(
        "peak",
        "near the end",
        (
            FieldSchema("vm_hwm_bytes", _COUNT_OR_NULL, "null: unknown to the kernel"),
            FieldSchema(
                "rss_file_bytes",
                _COUNT_OR_NULL,
                "resident pages of mapped files: binary, model, inputs",
                is_optional=True,  # earlier runners do not print it
            ),
        ),
    ),
    EventSchema("end", "last", (FieldSchema("status", _TEXT, '"OK"'),)),
    EventSchema(
        "error",
        "last, on failure",
        (FieldSchema("code", _COUNT), FieldSchema("message", _TEXT)),
        minimum=0,
    ),
)
_RANKS: Mapping[str, int] = {schema.event: rank for rank, schema in enumerate(EVENTS)}


@dataclass(frozen=True)
class RunnerOutput:
    """The events up to the first invalid line, and the error in that line, if any."""

    events: tuple[Event, ...]
    error: str | None


def read(output: bytes, kind: str = INFERENCE) -> RunnerOutput:
    """Checks a runner's output line by line; it need not be complete. `kind`: of the launch."""
    events: list[Event] = []
    counts = dict.fromkeys(_RANKS, 0)
    for number, line in enumerate(output[:MAX_OUTPUT_BYTES].splitlines(), 1):
        try:
            event = _parse(line)
            _check_order(event, events, counts, kind)
        except ValueError as error:
            return RunnerOutput(tuple(events), f"line {number}: {error}: {line[:80]!r}")
        counts[event["event"]] += 1
        events.append(event)
    if len(output) > MAX_OUTPUT_BYTES:
        return RunnerOutput(tuple(events), f"more than {MAX_OUTPUT_BYTES} bytes of output")
    return RunnerOutput(tuple(events), None)


def missing(events: Sequence[Event], kind: str = INFERENCE) -> list[str]:
    """The required events of a complete launch that are absent."""
    present = {event["event"] for event in events}
    return [one.event for one in _of(EVENTS, kind) if one.minimum and one.event not in present]


def _of(schemas: Sequence[EventSchema], kind: str) -> list[EventSchema]:
    """The events of a kind of launch."""
    return [schema for schema in schemas if schema.only in ("", kind)]


def _parse(line: bytes) -> Event:
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"longer than {MAX_LINE_BYTES} bytes")
    event: Any = strict_json.loads(line, parse_constant=_reject, object_pairs_hook=_unique)
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise ValueError("not an event")
    if event["event"] not in _RANKS:
        raise ValueError("unknown event")
    fields = EVENTS[_RANKS[event["event"]]].fields
    for field in fields:
        if field.name in event:
            if not field.kind.accepts(event[field.name]):
                raise ValueError(f"{field.name} must be {field.kind.text}")
        elif not field.is_optional:
            raise ValueError(f"{event['event']} without {field.name}")
    if event.keys() - {field.name for field in fields} - {"event"}:
        raise ValueError(f"{event['event']} with an unknown field")
    return event


def _check_order(
    event: Event, before: Sequence[Event], counts: Mapping[str, int], launch: str
) -> None:
    kind = event["event"]
    schema = EVENTS[_RANKS[kind]]
    if schema.only not in ("", launch):
        raise ValueError(f"{kind} in a launch for {launch}")
    last = before[-1]["event"] if before else None
    if last in ("end", "error"):
        raise ValueError(f"{kind} after {last}")
    if last is not None and _RANKS[kind] < _RANKS[last]:
        raise ValueError(f"{kind} after {last}")
    if schema.maximum is not None and counts[kind] == schema.maximum:
        raise ValueError(f"second {kind}")
    if kind != "error":
        for earlier in _of(EVENTS[: _RANKS[kind]], launch):
            if counts[earlier.event] < earlier.minimum:
                raise ValueError(f"{kind} before any {earlier.event}")
    if "i" in event and event["i"] != counts[kind]:
        raise ValueError(f"{kind} {event['i']} instead of {counts[kind]}")


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("duplicate key")
    return values


def _reject(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
