"""Sizes of trimmed runners and model files, as tables and committed results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.committed import ALLOWED, Baseline
from lab.experiment import Experiment, FigureRow, figure, figure_row, text
from trimtab import files
from trimtab.errors import RegressionError
from trimtab.planner import code_bytes as committed_code
from trimtab.planner.code_bytes import CodeSizes
from trimtab.tables import Column, Table, number

EXAMPLE = ("squeezenet", "cortex-a53")  # the runner that docs/size.md breaks down
# Profiles instead of a network: all operators, and those of float32 networks.
FULL, FLOAT32 = PROFILES = ("full", "float32")
# A network behind a camera and with a head: NV12 of 1920x1080 in, boxes out.
DETECTOR = "nv12_to_boxes"
DETECTOR_NETWORK, DETECTOR_INPUT, DETECTOR_HEAD = "yolo_fastest", "data", "yolov3"
DETECTOR_CAMERA = "camera(nv12, 1920x1080) | yolo"
DETECTOR_BAR = 90 * 1024
"""The largest runner of the detector on a Cortex-A53 that the project promises, in bytes."""
# Toolchain and core of each target.
TARGETS = (
    ("aarch64-linux-musl", "cortex-a53"),
    ("aarch64-linux-musl", "cortex-a72"),
    ("armv7-linux-musleabihf", "cortex-a7"),
    ("x86_64-linux-musl", "haswell"),
    ("x86_64-linux-musl", "skylake-avx512"),
)


@figure_row
class RunnerSizeRow(FigureRow):
    """Sizes of a runner without a model, and of its model's files (None for `PROFILES`).

    `packed_bytes`: of the .ttm after `pack`; `load_ttm_bytes`, `size_ttm_bytes`: of the .ttm with
    the preferences `load` and `size`; `parts`: the runner's bytes by part, only for `EXAMPLE`.
    """

    network: str = text("network")
    toolchain: str = text("toolchain")
    cpu: str = text("cpu")
    runner_bytes: int = figure("runner", ",", absent="-")
    onnx_bytes: int | None = figure(".onnx", ",", absent="-", default=None)
    ttm_bytes: int | None = figure(".ttm", ",", absent="-", default=None)
    packed_bytes: int | None = figure(".ttm.zst", ",", absent="-", default=None)
    load_ttm_bytes: int | None = figure("prefer load", ",", absent="-", default=None)
    size_ttm_bytes: int | None = figure("prefer size", ",", absent="-", default=None)
    parts: Mapping[str, int] = figure(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """The row of the result file, where only the example has parts."""
        record = super().record()
        return record if self.parts else {k: v for k, v in record.items() if k != "parts"}


SIZES = Experiment(
    "bench.sizes",
    "sizes",
    RunnerSizeRow,
    selection=("network", "cpu"),
    baseline=Baseline("sizes", ("network", "toolchain", "cpu"), ("runner_bytes", "ttm_bytes")),
)


def code_table(sizes: Mapping[str, CodeSizes]) -> Table:
    """One row per operator and kernel and one for common code; one column per architecture."""
    parts = {
        arch: {"common": code.common}
        | {f"op:{name}": n for name, n in code.operators.items()}
        | {f"kernel:{name}": n for name, n in code.kernels.items()}
        for arch, code in sizes.items()
    }
    names = dict.fromkeys(name for of_arch in parts.values() for name in of_arch)
    columns = [Column("part"), *(number(arch, ",", absent="-") for arch in parts)]
    return Table(columns, [(name, *(p.get(name) for p in parts.values())) for name in names])


def commit_code(sizes: Mapping[str, CodeSizes]) -> None:
    """Writes the code sizes that the cost model reads."""
    files.write_text(committed_code.PATH, committed_code.to_toml(sizes))


def check_code(sizes: Mapping[str, CodeSizes]) -> None:
    """RegressionError when the committed code size of an operator or kernel is off by more than
    2 % and 64 bytes.
    """
    wrong = []
    for arch, code in sizes.items():
        baseline = committed_code.code_sizes(arch) or CodeSizes(0, {}, {})
        for was, now in (
            (baseline.operators, code.operators),
            (baseline.kernels, code.kernels),
        ):
            wrong += [
                f"{name} ({arch}): {was.get(name, 0)} to {now.get(name, 0)}"
                for name in sorted({*was, *now})
                if abs(was.get(name, 0) - now.get(name, 0)) > 64 + ALLOWED * was.get(name, 0)
            ]
    if wrong:
        raise RegressionError(
            f"the committed code sizes are out of date: {'; '.join(wrong)}",
            where=str(committed_code.PATH),
            hint="run ./inv bench.sizes --code --update, and commit the file",
        )
