"""What trimmed runners and model files weigh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.instruments.committed import Baseline, Results
from trimtab.tables import Column, Table, number

BASELINE = Baseline("sizes", ("network", "toolchain", "cpu"), ("runner_bytes", "ttm_bytes"))
FULL = "full"  # in a network's place: the profile with every operator
# Toolchain and core of each machine that is built for.
TARGETS = (
    ("aarch64-linux-musl", "cortex-a53"),
    ("aarch64-linux-musl", "cortex-a72"),
    ("armv7-linux-musleabihf", "cortex-a7"),
    ("x86_64-linux-musl", "haswell"),
    ("x86_64-linux-musl", "skylake-avx512"),
)


@dataclass(frozen=True)
class Weighed:
    """One runner without a model, and the files of its model, None of `FULL`. `packed_bytes`: of
    the .ttm as `pack` leaves it; `load_ttm_bytes` and `size_ttm_bytes`: of the one with these
    preferences; `versions`: of the programs that they depend on.
    """

    network: str
    toolchain: str
    cpu: str
    runner_bytes: int
    versions: Mapping[str, str]
    onnx_bytes: int | None = None
    ttm_bytes: int | None = None
    packed_bytes: int | None = None
    load_ttm_bytes: int | None = None
    size_ttm_bytes: int | None = None


def table(weighed: Sequence[Weighed]) -> Table:
    """A row per runner; its records are what is committed."""
    heads = {
        "runner": "runner_bytes",
        ".onnx": "onnx_bytes",
        ".ttm": "ttm_bytes",
        ".ttm.zst": "packed_bytes",
        "prefer load": "load_ttm_bytes",
        "prefer size": "size_ttm_bytes",
    }
    figures = [number(head, ",", absent="-", key=key) for head, key in heads.items()]
    rows = [
        (
            *(w.network, w.toolchain, w.cpu, w.runner_bytes),
            *(w.onnx_bytes, w.ttm_bytes, w.packed_bytes, w.load_ttm_bytes, w.size_ttm_bytes),
        )
        for w in weighed
    ]
    return Table([Column("network"), Column("toolchain"), Column("cpu"), *figures], rows)


def to_results(weighed: Sequence[Weighed], command: str) -> Results:
    """What is committed."""
    versions = {name: version for w in weighed for name, version in w.versions.items()}
    return Results(command=command, versions=versions, rows=table(weighed).records())
