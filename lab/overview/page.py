"""The overview of networks: shipped bytes, memory and time side by side."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import block
from lab.peers import report
from lab.sizes.figures import SIZES
from trimtab.errors import FileAccessError
from trimtab.tables import Column, Page, Table, number

_CPU = "cortex-a53"


@block
def overview() -> Page:
    """One row per network, from the results of several experiments."""
    sizes = {row["network"]: row for row in _of_core(SIZES.name)}
    counted = {row["model"]: row for row in _of_core("instructions") if row["precision"] == "f32"}
    ncnn_counts = {
        row["model"]: row["instructions_per_inference"]
        for row in _of_core("instructions/peers")
        if (row["engine"], row["precision"]) == ("ncnn", "f32")
    }
    traffic = {
        row["model"]: row["read_bytes"] + row["written_bytes"]
        for row in _of_core("time_model")
        if row["threads"] == 1
    }
    figures = report.PEERS.rows()
    ncnn_bytes = {f.network: f.shipped_bytes for f in figures if f.engine == "ncnn"}
    peak, time = (report.ratios_of(kind, figures, 1) for kind in (report.PEAK, report.MEDIAN))
    rows = []
    for network, row in sizes.items():
        if not row["ttm_bytes"]:
            continue
        count = counted.get(network, {}).get("instructions_per_inference")
        other = ncnn_counts.get(network)
        rows.append(
            (
                network,
                (row["runner_bytes"] + row["ttm_bytes"]) / 1e6,
                row["onnx_bytes"] / 1e6,
                _millions(ncnn_bytes.get(network)),
                _millions(count),
                count / other if count and other else None,
                _millions(traffic.get(network)),
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
        f"Megabytes and instructions are those of a static binary for the {_CPU}, memory traffic "
        "is that of one inference with one thread. The last two columns are ratios to the leanest "
        "and to the fastest peer on x86, with one thread. A dash means not measured:",
        Table(columns, rows),
    ]


def _millions(count: int | None) -> float | None:
    return None if count is None else count / 1e6


def _of_core(name: str) -> list[committed.Row]:
    """Committed rows of the core; empty without a result file."""
    try:
        rows = committed.read(name).rows
    except FileAccessError:
        return []
    return [row for row in rows if row["cpu"] == _CPU]
