"""Sizes of runners and models, without a build."""

from __future__ import annotations

import pytest
from invoke.context import Context
from invoke.exceptions import Exit

from lab.sizes.figures import TARGETS, RunnerSize, table, to_results
from lab.sizes.measure import measure_runners
from tasks import namespace
from tests.some import some
from trimtab.build import host_build
from trimtab.build.toolchain import find_toolchain
from trimtab.errors import UsageError
from trimtab.target import Target

ROWS = [
    RunnerSize(
        "net", "aarch64-linux-musl", "cortex-a53", 90_000, {"compiler": "zig"}, 1, 3, 2, 4, 3
    ),
    RunnerSize("full", "aarch64-linux-musl", "cortex-a53", 180_000, {"compiler": "zig"}),
]


def test_the_targets_exist() -> None:
    for toolchain, cpu in some(TARGETS):
        arch = find_toolchain(toolchain).arch
        assert Target.of(arch, cpu).core.name == cpu


def test_a_core_without_committed_sizes_is_refused() -> None:
    with pytest.raises(UsageError, match="no sizes are committed for cortex-a9") as refused:
        measure_runners(["squeezenet"], ["Cortex_A9"])
    assert "cortex-a53" in refused.value.hint


def test_the_records_of_the_table_are_the_committed_rows() -> None:
    results = to_results(ROWS, "./inv size")
    assert results.versions == {"compiler": "zig"}
    assert [row["runner_bytes"] for row in results.rows] == [90_000, 180_000]
    assert "180,000" in table(ROWS).text()


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
