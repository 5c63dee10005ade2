"""The instruments for ARM code against the committed figures: counts and models do not depend on
the machine's load, so a small allowance is enough.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.device.conftest import require, require_counting
from trimtab.instruments import instructions, mca, sizes
from trimtab.workflow.bench import count_instructions
from trimtab.workflow.build import Recipe
from trimtab.workflow.sizes import weigh

MODELS = ("mobilenet_v1", "squeezenet")


@pytest.mark.device
@pytest.mark.build
@pytest.mark.parametrize("model", MODELS)
def test_an_inference_takes_no_more_instructions_than_committed(model: str, tmp_path: Path) -> None:
    require_counting()
    counts = count_instructions(Recipe(model=model, cpu="cortex_a53"), tmp_path)
    instructions.BASELINE.check(instructions.totals([counts]).records())
    # The operators are counted in a run of their own, with markers between them.
    assert sum(n for _, n in counts.operators) == pytest.approx(
        counts.instructions_per_inference, rel=0.01
    )


@pytest.mark.build
def test_a_trimmed_runner_and_its_model_are_no_larger_than_committed() -> None:
    weighed = weigh(["squeezenet"], ["cortex-a53"])
    sizes.BASELINE.check(sizes.table(weighed).records())
    assert weighed[0].runner_bytes < (weighed[0].onnx_bytes or 0) < (weighed[0].ttm_bytes or 0)


# The part of the time that the matrix loop of a plan for the core keeps its FMA pipes busy.
SHARES = {
    "cortex-a53": 0.75,
    "cortex-a55": 0.85,
    "cortex-a510": 0.95,
    "cortex-a72": 0.95,
    "neoverse-n1": 0.95,
    "neoverse-n2": 0.95,
    "neoverse-v1": 0.95,
}


@pytest.mark.build
def test_the_inner_loops_take_no_more_modelled_cycles_than_committed() -> None:
    require("llvm-mca-19", "llvm-19")
    found = mca.model("cortex-a53")
    assert all(0 < row.share <= 1 for row in found)
    mca.BASELINE.check(mca.table(found).records())
    planned = [row for row in found if row.planned and row.loop.kernel.startswith("gemm_f32_")]
    assert sorted(row.core for row in planned) == sorted(SHARES)
    assert all(row.share >= SHARES[row.core] for row in planned)
