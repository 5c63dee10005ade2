"""What trimmed runners and model files weigh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lab.committed import ALLOWED, Baseline, Results
from trimtab import files
from trimtab.errors import RegressionError
from trimtab.planner import code_bytes as committed_code
from trimtab.planner.code_bytes import CodeSizes
from trimtab.tables import Column, Table, number

BASELINE = Baseline("sizes", ("network", "toolchain", "cpu"), ("runner_bytes", "ttm_bytes"))
EXAMPLE = ("squeezenet", "cortex-a53")  # the runner that docs/size.md takes apart
# In a network's place: the profiles with every operator, and with those of networks in float32.
FULL, FLOAT32 = PROFILES = ("full", "float32")
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
    """One runner without a model, and the files of its model, None of `PROFILES`. `packed_bytes`:
    of the .ttm as `pack` leaves it; `load_ttm_bytes` and `size_ttm_bytes`: of the one with these
    preferences; `versions`: of the programs that they depend on. `parts`: where the runner's bytes
    go, of `EXAMPLE` alone.
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
    parts: Mapping[str, int] = field(default_factory=dict)


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
    rows = [
        row | ({"parts": dict(w.parts)} if w.parts else {})
        for row, w in zip(table(weighed).records(), weighed, strict=True)
    ]
    return Results(command=command, versions=versions, rows=rows)


def code_table(found: Mapping[str, CodeSizes]) -> Table:
    """A row per operator and kernel, and what every binary has, with a column per architecture."""
    parts = {
        arch: {"common": code.common}
        | {f"op:{name}": n for name, n in code.operators.items()}
        | {f"kernel:{name}": n for name, n in code.kernels.items()}
        for arch, code in found.items()
    }
    names = dict.fromkeys(name for of_arch in parts.values() for name in of_arch)
    columns = [Column("part"), *(number(arch, ",", absent="-") for arch in parts)]
    return Table(columns, [(name, *(p.get(name) for p in parts.values())) for name in names])


def commit_code(found: Mapping[str, CodeSizes]) -> None:
    """Writes what the planner reads."""
    files.write_text(committed_code.PATH, committed_code.to_toml(found))


def check_code(found: Mapping[str, CodeSizes]) -> None:
    """RegressionError where the planner's bytes of an architecture, all together or of one
    operator or kernel, are off by more than 2 % and 64 bytes.
    """
    wrong = []
    for arch, code in found.items():
        known = committed_code.code_sizes(arch) or CodeSizes(0, {}, {})
        for was, now in ((known.operators, code.operators), (known.kernels, code.kernels)):
            wrong += [
                f"{name} ({arch}): {was.get(name, 0)} to {now.get(name, 0)}"
                for name in sorted({*was, *now})
                if abs(was.get(name, 0) - now.get(name, 0)) > 64 + ALLOWED * was.get(name, 0)
            ]
    if wrong:
        raise RegressionError(
            f"the planner knows other bytes of code: {'; '.join(wrong)}",
            where=str(committed_code.PATH),
            hint="./inv bench.sizes --code --update, and commit it",
        )
