"""A trace for https://ui.perfetto.dev, `chrome://tracing` and speedscope.

A process is a run. Its threads are the launches (load, first inference, every inference of the
steady state). If operators were measured, further threads hold every inference by operator, and the
work of each thread of the engine. Records have durations only, so spans follow each other without
gaps.
Source: "Trace Event Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trimtab.compare.side_by_side import Comparison
from trimtab.reports import exchange
from trimtab.results.summary import Summary

SUFFIX = ".json"
IS_WHOLE = False

_BY_OPERATOR = 0  # the thread of inferences by operator; launches start at 1
_STEPS = (("load", "load"), ("first", "first inference"), ("latency", "inference"))

Span = tuple[str, int]  # name, and duration in nanoseconds


def run(summary: Summary) -> str:
    """The spans of one run. Raises UsageError if it has no times."""
    return _trace([summary])


def comparison(comparison: Comparison) -> str:
    """A process for each run. Raises UsageError if one has no times."""
    return _trace(comparison.runs)


def _trace(runs: Sequence[Summary]) -> str:
    exchange.check_timed(runs, "trace")
    events: list[dict[str, Any]] = []
    for process, (name, summary) in enumerate(exchange.named(runs), 1):
        about = f"{name}: {summary.header.profile} on {summary.header.device.name}"
        events.append(_metadata("process_name", about, process, 0))
        if summary.ops:
            events.append(_metadata("thread_name", "inferences by operator", process, _BY_OPERATOR))
            events += _by_operator(summary, process)
        for launch in range(summary.launches):
            events.append(_metadata("thread_name", f"launch {launch + 1}", process, launch + 1))
            events += _consecutive(_steps(summary, launch), "launch", process, launch + 1)
        threads = max((len(op.shares[0]) for op in summary.ops if op.shares), default=0)
        for thread in range(threads):
            row = summary.launches + 1 + thread
            title = f"thread {thread + 1} by operator"
            events.append(_metadata("thread_name", title, process, row))
            events += _by_thread(summary, thread, process, row)
    facts = {"runs": [exchange.facts(summary) for summary in runs]}
    return exchange.dump({"traceEvents": events, "displayTimeUnit": "ns", "otherData": facts})


def _steps(summary: Summary, launch: int) -> Iterator[Span]:
    for key, what in _STEPS:
        figure = summary.figure(key)
        if figure and launch < len(figure.launches):
            yield from ((what, ns) for ns in figure.launches[launch])


def _by_operator(summary: Summary, process: int) -> Iterator[dict[str, Any]]:
    start = 0
    for i in range(_inferences(summary)):
        spans = [(op.label, op.samples_ns[i]) for op in summary.ops]
        end = start + sum(ns for _, ns in spans)
        what = f"inference {i + 1}"
        yield _edge("B", what, start, "inference", process, _BY_OPERATOR)
        yield from _consecutive(spans, "operator", process, _BY_OPERATOR, start)
        yield _edge("E", what, end, "inference", process, _BY_OPERATOR)
        start = end


def _by_thread(summary: Summary, thread: int, process: int, row: int) -> Iterator[dict[str, Any]]:
    start = 0
    for i in range(_inferences(summary)):
        for op in summary.ops:
            spans = op.shares[i] if op.shares else ()
            if thread < len(spans) and (span := spans[thread]):
                yield _edge("B", op.label, start + span[0], "share", process, row)
                yield _edge("E", op.label, start + span[1], "share", process, row)
            start += op.samples_ns[i]


def _inferences(summary: Summary) -> int:
    """The number of inferences measured by operator."""
    return min(len(op.samples_ns) for op in summary.ops)


def _consecutive(
    spans: Iterable[Span], category: str, process: int, thread: int, start: int = 0
) -> Iterator[dict[str, Any]]:
    for what, ns in spans:
        yield _edge("B", what, start, category, process, thread)
        start += ns
        yield _edge("E", what, start, category, process, thread)


def _edge(
    phase: str, what: str, at: float, category: str, process: int, thread: int
) -> dict[str, Any]:
    """The begin or end event of a span, with its time in microseconds.

    With a complete event ("X"), begin plus duration would miss the next begin by a rounding error.
    """
    event = {"name": what, "cat": category, "ph": phase, "ts": at / 1e3}
    return {**event, "pid": process, "tid": thread}


def _metadata(event: str, name: str, process: int, thread: int) -> dict[str, Any]:
    return {"name": event, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}
