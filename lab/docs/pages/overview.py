"""What a network costs as a whole: bytes that are shipped, memory and time, side by side."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import block
from lab.peers import report
from lab.sizes.figures import BASELINE
from trimtab.errors import FileAccessError
from trimtab.tables import Column, Page, Table, number

_CPU = "cortex-a53"


@block
def overview() -> Page:
    """A row per network, of all that is committed."""
    weighed = {row["network"]: row for row in _of_core(BASELINE.name)}
    counted = {row["model"]: row for row in _of_core("instructions") if row["precision"] == "f32"}
    others = {
        row["model"]: row["instructions_per_inference"]
        for row in _of_core("instructions/peers")
        if (row["engine"], row["precision"]) == ("ncnn", "f32")
    }
    moved = {
        row["model"]: row["read_bytes"] + row["written_bytes"]
        for row in _of_core("time_model")
        if row["threads"] == 1
    }
    found = report.figures(committed.read(report.NAME).rows)
    ncnn = {f.network: f.shipped_bytes for f in found if f.engine == "ncnn"}
    peak, time = (report.ratios_of(kind, found, 1) for kind in (report.PEAK, report.MEDIAN))
    rows = []
    for network, row in weighed.items():
        if not row["ttm_bytes"]:
            continue
        count = counted.get(network, {}).get("instructions_per_inference")
        other = others.get(network)
        rows.append(
            (
                network,
                (row["runner_bytes"] + row["ttm_bytes"]) / 1e6,
                row["onnx_bytes"] / 1e6,
                _millions(ncnn.get(network)),
                _millions(count),
                count / other if count and other else None,
                _millions(moved.get(network)),
                peak.get(network),
                time.get(network),
            )
        )
    heads = [
        ("shipped: binary and model", ".2f"),
        (".onnx", ".2f"),
        ("ncnn's files", ".2f"),
        ("instructions, millions", ".0f"),
        ("by ncnn's", ".2f"),
        ("memory traffic, simulated", ".1f"),
        ("peak memory, x86", ".2f"),
        ("time, x86", ".2f"),
    ]
    columns = [Column("network"), *(number(head, form, absent="-") for head, form in heads)]
    return [
        f"Megabytes and instructions are of a static binary for the {_CPU}, traffic of one thread "
        "and one inference; the last two columns are ratios to the leanest and to the fastest peer "
        "on x86, with one thread. Nothing is committed where a dash stands:",
        Table(columns, rows),
    ]


def _millions(count: int | None) -> float | None:
    return None if count is None else count / 1e6


def _of_core(name: str) -> list[committed.Row]:
    """Committed rows of the core; none where nothing is committed yet."""
    try:
        rows = committed.read(name).rows
    except FileAccessError:
        return []
    return [row for row in rows if row["cpu"] == _CPU]
