"""Sizes of runners and models, without a build."""

from __future__ import annotations

from dataclasses import replace

import pytest
from invoke.context import Context
from invoke.exceptions import Exit

from lab.sizes.figures import TARGETS, RunnerSizeRow
from lab.sizes.measure import measure_runners
from tasks import namespace
from tests.some import some
from trimtab.build import host_build
from trimtab.build.toolchain import find_toolchain
from trimtab.errors import UsageError
from trimtab.target import Target


def test_the_targets_exist() -> None:
    for toolchain, cpu in some(TARGETS):
        arch = find_toolchain(toolchain).arch
        assert Target.of(arch, cpu).core.name == cpu


def test_a_core_without_committed_sizes_is_refused() -> None:
    with pytest.raises(UsageError, match="no sizes are committed for cortex-a9") as refused:
        measure_runners(["squeezenet"], ["Cortex_A9"])
    assert "cortex-a53" in refused.value.hint


def test_only_the_example_has_parts_in_the_result_file() -> None:
    row = RunnerSizeRow("net", "aarch64-linux-musl", "cortex-a53", 90_000, 1, 3, 2, 4, 3)
    assert "parts" not in row.record()
    assert replace(row, parts={"libc": 5}).record()["parts"] == {"libc": 5}
    assert "90,000" in RunnerSizeRow.table([row]).text()


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("bench.kernels", {"isa": [], "family": ["gemm"], "network": []}),
        ("bench.kernels", {"isa": [], "family": [], "network": [], "operators": "squeezenet"}),
    ],
)
def test_an_update_refuses_a_selection_of_rows(
    task: str, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_build, "build_engine", lambda *_: None)
    with pytest.raises(Exit, match="an update writes all") as refused:
        namespace[task].body(Context(), **options, update=True)
    assert refused.value.code == UsageError.exit_code
