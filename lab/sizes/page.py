"""Parts of pages from the committed sizes."""

from __future__ import annotations

from collections.abc import Collection
from itertools import takewhile
from statistics import median

from lab.docs.generator import block, reference
from lab.docs.sentences import made_by
from lab.sizes.figures import (
    DETECTOR,
    DETECTOR_BAR,
    DETECTOR_NETWORK,
    EXAMPLE,
    FLOAT32,
    FULL,
    SIZES,
    RunnerSizeRow,
)
from trimtab import kernels, paths, schema
from trimtab.tables import Column, Page, Table, number

_DEMO = ("yolo_fastest", "cortex-a53")

# Purposes of parts without a header that describes them.
_REASONS = {
    "libc": "musl: startup and exit, files, system calls, memcpy",
    "compiler_rt": "arithmetic without processor instructions",
    "runner": "the program around the engine: options, JSON lines, timing and counters",
    "api": "the C interface",
    "merged": "error texts and operator names; --no-strings removes most of them",
    "tables": "registry of operators and kernels with their attributes",
    "linker": "addresses resolved by the linker",
    "elf": "headers and section table",
    "padding": "alignment",
}


@block
def sizes_headline() -> str:
    """The sentence of the README."""
    network, cpu = _DEMO
    trimmed, full = (_by_network()[name][cpu].runner_bytes for name in (network, FULL))
    return (
        f"A YOLO-class detector, trimmed for a Cortex-A53, is a static binary of "
        f"{trimmed / 1000:.0f} KB; the same engine with every operator takes {full / 1000:.0f} KB."
    )


@block
def runner_sizes() -> Page:
    """Sizes of runners, by network and core."""
    return [
        made_by(SIZES.name),
        "Bytes of static stripped runners without their models, trimmed for the network. "
        f"`{FULL}` has all operators, `{FLOAT32}` the operators of float32 networks; `{DETECTOR}` "
        f"is {DETECTOR_NETWORK} behind a camera with boxes as results, whose bar on a Cortex-A53 "
        f"is {DETECTOR_BAR:,}:",
        _table("runner_bytes", ",.0f"),
    ]


@reference("Bytes of a runner by part")
def size_reasons() -> Page:
    """The purpose of each part of the example's runner, largest first."""
    network, cpu = EXAMPLE
    parts = _by_network()[network][cpu].parts
    columns = [Column("part"), number("bytes", ","), Column("purpose")]
    rows = [
        (part, parts[part], _reason(part, parts)) for part in sorted(parts, key=lambda p: -parts[p])
    ]
    return [f"The runner of {network} for a {cpu}, part by part:", Table(columns, rows)]


def _reason(part: str, parts: Collection[str]) -> str:
    """The purpose of a part: the first sentence of its header, source or schema."""
    kind, _, name = part.partition(":")
    match kind:
        case "core":
            return _sentence(f"runtime/core/{name}")
        case "shared":
            return _sentence(f"runtime/ops/{name}")
        case "op":
            return schema.operator(name).doc.partition(". ")[0].rstrip(".")
        case "kernel":
            family = kernels.kernel(name).family
            users = [op for op in schema.operators().values() if family in op.families]
            return "for " + ", ".join(op.name for op in users if f"op:{op.name}" in parts)
    return _REASONS.get(part, "")


def _sentence(part: str) -> str:
    """The first sentence of the comment at the top of a header, or of a source without one."""
    header, source = (paths.root() / f"{part}{suffix}" for suffix in (".h", ".cpp"))
    lines = (header if header.exists() else source).read_text(encoding="utf-8").splitlines()
    comment = " ".join(line[3:] for line in takewhile(lambda line: line.startswith("//"), lines))
    return comment.partition(". ")[0].partition(" #")[0].rstrip(".")


@reference("Sizes of model files")
def model_sizes() -> Page:
    """Sizes of planned models, by network and core, of their ONNX files, and by preference."""
    table = _table("ttm_bytes", ".2f", 1e6, "onnx_bytes")
    return [made_by(SIZES.name), "Megabytes of model files:", table, *_preferred_sizes()]


def _preferred_sizes() -> Page:
    """Sizes of model files with each preference."""
    cpu = _DEMO[1]
    rows = [row for row in SIZES.rows() if row.cpu == cpu and row.size_ttm_bytes]
    if not rows:
        return ["Sizes with other preferences: not measured yet."]
    heads = {"load": "load_ttm_bytes", "balanced": "ttm_bytes", "size": "size_ttm_bytes"}
    columns = [number(head, ".2f") for head in (".onnx", *(f"--prefer {name}" for name in heads))]
    figures = [
        (row.network, *(getattr(row, key) / 1e6 for key in ("onnx_bytes", *heads.values())))
        for row in rows
    ]
    title = f"Megabytes of model files for the {cpu} with each preference:"
    return [title, Table([Column("network"), *columns], figures)]


@block
def packed_sizes() -> str:
    """Sizes of packed model files."""
    shares = [
        row.packed_bytes / row.ttm_bytes
        for row in SIZES.rows()
        if row.packed_bytes and row.ttm_bytes
    ]
    if not shares:
        return "Packed sizes: not measured yet."
    return (
        f"`./inv pack` reduces them to {median(shares):.0%} ({min(shares):.0%} to "
        f"{max(shares):.0%}): only the exponents of weights are compressible."
    )


def _table(key: str, form: str, unit: int | float = 1, source: str = "") -> Table:
    """One row per network, one column per core. `source`: a figure common to all cores, first."""
    networks = _by_network()
    cpus = list(dict.fromkeys(cpu for by_cpu in networks.values() for cpu in by_cpu))
    rows = []
    for network, by_cpu in networks.items():
        values = [getattr(by_cpu[cpus[0]], source)] if source else []
        values += [getattr(by_cpu[cpu], key) if cpu in by_cpu else None for cpu in cpus]
        if any(values):
            rows.append([network, *(value and value / unit for value in values)])
    heads = [".onnx"] * bool(source) + cpus
    return Table([Column("network"), *(number(head, form, absent="-") for head in heads)], rows)


def _by_network() -> dict[str, dict[str, RunnerSizeRow]]:
    """Committed rows by network and core."""
    networks: dict[str, dict[str, RunnerSizeRow]] = {}
    for row in SIZES.rows():
        networks.setdefault(row.network, {})[row.cpu] = row
    return networks
