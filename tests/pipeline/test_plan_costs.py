"""The cost and benefit of each part of a plan."""

from __future__ import annotations

import pytest

from trimtab.errors import UsageError
from trimtab.pipeline.loaded import load
from trimtab.pipeline.plan_costs import plan_costs, table, toolchain_with_code_sizes
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe


def test_every_algorithm_has_its_bytes_and_the_time_without_it() -> None:
    recipe = Recipe("squeezenet", toolchain="aarch64-linux-musl", cpu="cortex-a53")
    costs = {cost.part: cost for cost in plan_costs(plan(load(recipe)))}
    winograd = costs["conv_winograd"]
    assert winograd.code_bytes > 1000
    assert winograd.time is not None
    assert winograd.time > 1.1
    needed = costs["max_pool_f32_neon"]
    assert (needed.model_bytes, needed.time) == (None, None)
    assert "conv_winograd" in table([winograd]).text()


def test_the_toolchain_of_a_core_is_one_whose_code_sizes_are_known() -> None:
    assert toolchain_with_code_sizes("cortex-a53") == "aarch64-linux-musl"
    assert toolchain_with_code_sizes("cortex-a7") == "armv7-linux-musleabihf"


def test_an_architecture_without_code_sizes_is_refused() -> None:
    planned = plan(load(Recipe("squeezenet", toolchain="riscv64-linux-musl")))
    with pytest.raises(UsageError, match="code sizes are not known for riscv64"):
        plan_costs(planned)
