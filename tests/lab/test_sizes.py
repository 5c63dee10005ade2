"""What of the sizes needs no build."""

from __future__ import annotations

import pytest
from invoke.context import Context
from invoke.exceptions import Exit

from lab.sizes.figures import TARGETS, Weighed, table, to_results
from lab.sizes.measure import weigh
from tasks import namespace
from trimtab.build import host_build
from trimtab.build.toolchain import find_toolchain
from trimtab.errors import UsageError
from trimtab.target import Target

ROWS = [
    Weighed("net", "aarch64-linux-musl", "cortex-a53", 90_000, {"compiler": "zig"}, 1, 3, 2, 4, 3),
    Weighed("full", "aarch64-linux-musl", "cortex-a53", 180_000, {"compiler": "zig"}),
]


def test_the_machines_whose_sizes_are_kept_are_known() -> None:
    for toolchain, cpu in TARGETS:
        arch = find_toolchain(toolchain).arch
        assert Target.of(arch, cpu).core.name == cpu


def test_a_core_whose_sizes_are_not_kept_is_refused() -> None:
    with pytest.raises(UsageError, match="not kept for cortex-a9") as refused:
        weigh(["squeezenet"], ["Cortex_A9"])
    assert "cortex-a53" in refused.value.hint


def test_rows_are_what_is_committed() -> None:
    results = to_results(ROWS, "./inv weigh")
    assert results.versions == {"compiler": "zig"}
    assert [row["runner_bytes"] for row in results.rows] == [90_000, 180_000]
    assert "180,000" in table(ROWS).text()


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("bench.sizes", {"network": ["squeezenet"], "cpu": []}),
        ("bench.sizes", {"network": [], "cpu": ["cortex-a53"]}),
        ("bench.zoo-instructions", {"network": ["squeezenet"]}),
        ("bench.zoo-instructions", {"network": [], "precision": "int8"}),
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
