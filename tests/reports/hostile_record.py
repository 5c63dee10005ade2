"""A record with every event that reports read, whose texts can be replaced one by one."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.bench.fakes import write_record
from tests.test_accuracy import SEARCH
from trimtab.results.records import Status

Events = list[dict[str, Any]]
Leaf = tuple[str | int, ...]
"""The keys that lead from the list of events to a text; the last may be (key,) for a key itself."""

_OPERATOR = {"macs": 9000, "weights_bytes": 4, "moved_bytes": 40, "prepares": False}
_ERRORS = {"max_error": 0.1, "cosine": 1.0, "at": 0, "actual": 1.0, "expected": 1.0}
_COUNTS = {"cycles": 1000, "instructions": 900}


def _more() -> Events:
    accuracy = asdict(SEARCH.candidates[1].accuracy)
    counters = {"names": list(_COUNTS), "line_bytes": 64, "gb_per_s": 2.5}
    samples = [[i / 10, "power", "hwmon0", 1_000_000, 0, ""] for i in range(40)]
    ways = [
        {"what": "trimtab", "model_bytes": 5, "binary_bytes": 1000, "memory_bytes": 9},
        {"what": "net.onnx (source)", "model_bytes": 31_337},
    ]
    return [
        {"event": "shipped", "ways": [{**ways[0], "is_built": True}, ways[1]]},
        {"event": "operators", "labels": ["conv first", "relu second"]},
        {
            "event": "network",
            "operators": [
                {"label": "conv first", "reads": [], **_OPERATOR},
                {"label": "relu second", "reads": [0], **_OPERATOR},
            ],
            "memory": [{"name": "a", "bytes": 40, "first": 0, "last": 1}],
            "before": [
                {"label": "conv first", "reads": [], "becomes": 0},
                {"label": "identity x", "reads": [0], "becomes": None},
            ],
            "gb_per_s": 2.5,
        },
        {"event": "accuracy", **accuracy},
        {"event": "precision", **asdict(SEARCH)},
        {"event": "counters", **counters},
        {"event": "golden", "oracle": "numpy 2", "tolerance": 0.1, "outputs": [_ERRORS]},
        {"event": "resumed", "discarded": [], "why": "no route"},
        {"event": "conditions", "hot": "soc 90", "before": None, "after": None, "throttled": []},
        {"event": "pace", "fps": 9, "seconds": 2, "samples": [[0, 9.5, None]], "why": "no route"},
        {"event": "energy", "idle": samples, "busy": samples, "inferences": 3},
    ]


def events(directory: Path, status: Status = Status.OK, **options: Any) -> Events:
    """The events of a complete record, header and end included."""
    groups = {"op:conv": 500, "kernel:gemm": 300, "core": 100}
    path = write_record(directory, launches=2, groups=groups, status=status, **options)
    header, *lines, end = map(json.loads, path.read_text().splitlines())
    path.unlink()
    header["control"] = {"governor": "performance", "max_celsius": 70.0, "uncontrolled": ["fan"]}
    header["affinity"] = "0-1"
    header["protocol"]["sweep"] = {
        "name": "all",
        "cell": "c",
        "series": "s",
        "configuration": {"precision": "int8", "plan": "a.toml", "prefer": "size"},
        "revisions": {
            "project": {"commit": "ab", "is_changed": False, "subject": "s", "time": "t"}
        },
    }
    frames = itertools.count()
    for line in lines:
        if line["event"] in ("run", "op"):
            if line["event"] == "run":
                line |= {"frame": next(frames), "wait_ns": 5}
            line["counters"] = [[count, 10, 10] for count in _COUNTS.values()]
    return [header, *_more(), *lines, end]


def texts(value: Any, at: Leaf = ()) -> Iterator[Leaf]:
    """The place of every text in the events, keys of objects included."""
    if isinstance(value, str):
        yield at
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts(item, (*at, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from texts(item, (*at, i))


def poisoned(source: Events, leaf: Leaf, payload: Any) -> Events:
    """The events with another value at one place; they share the others with the source."""
    changed = [*source]
    holder: Any = changed
    for key in leaf[:-1]:
        holder[key] = copy.copy(holder[key])
        holder = holder[key]
    holder[leaf[-1]] = payload
    return changed


def write(directory: Path, source: Events, name: str = "run.jsonl") -> Path:
    """The file of the events."""
    path = directory / name
    path.write_text("".join(json.dumps(event) + "\n" for event in source))
    return path
