"""A model file may contain anything: the engine refuses it or runs it, and never crashes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trimtab
from trimtab.planner.plan_file import Choice, Plan
from trimtab.program import Program, Quantization


def network() -> Program:
    """One of everything that indexes memory: windows, groups, slices, gathers, packed weights."""
    rng = np.random.default_rng(3)
    program = Program("hostile")
    program.add_input("x", (1, 3, 9, 7))
    b = program.block

    def weights(*shape: int) -> str:
        return b.add_constant(rng.standard_normal(shape, dtype=np.float32), "w")

    (y,) = b.add_op("conv", ["x", weights(8, 3, 3, 3), weights(8)], {"pads": (1, 1, 1, 1)})
    (y,) = b.add_op("conv", [y, weights(8, 1, 3, 3)], {"pads": (1, 1, 1, 1), "group": 8})
    (z,) = b.add_op("conv", [y, weights(6, 4, 1, 1)], {"group": 2})
    (z,) = b.add_op("max_pool", [z], {"kernel_shape": (3, 3), "strides": (2, 2)})
    (z,) = b.add_op("conv_transpose", [z, weights(6, 4, 2, 2)], {"strides": (2, 2)})
    (z,) = b.add_op("resize", [z], {"sizes": (9, 7)})
    (v,) = b.add_op("conv", [y, weights(16, 8, 1, 1)])
    (v,) = b.add_op("conv", [v, weights(16, 16, 3, 3), weights(16)], {"pads": (1, 1, 1, 1)})
    (u,) = b.add_op("conv", [v, weights(64, 16, 1, 1), weights(64)], {}, name="strassen")
    strided = {"pads": (3, 3, 3, 3), "strides": (2, 2)}
    (t,) = b.add_op("conv", ["x", weights(16, 3, 7, 7)], strided, name="squares")
    (t,) = b.add_op("resize", [t], {"sizes": (9, 7)})
    (s,) = b.add_op("conv", [y, weights(12, 8, 1, 1), weights(12)])
    (s,) = b.add_op("conv", [s, weights(12, 1, 3, 3)], {"pads": (1, 1, 1, 1), "group": 12})
    (s,) = b.add_op("conv", [s, weights(8, 12, 1, 1), weights(8), y], {}, name="separable")
    far = {"pads": (6, 6, 6, 6), "dilations": (6, 6)}
    (r,) = b.add_op("conv", [y, weights(8, 8, 3, 3), weights(8)], far, name="dilated")
    (z,) = b.add_op("concat", [y, z, v, u, t, s, r], {"axis": 1})
    (z,) = b.add_op("pad", [z], {"pads": (0, 0, 1, 1, 0, 0, 1, 1), "mode": "reflect"})
    (z,) = b.add_op("slice", [z], {"starts": (1,), "ends": (8,), "axes": (2,)})
    (z,) = b.add_op("average_pool", [z], {"kernel_shape": (2, 2)})
    (z,) = b.add_op("add", [z, z], {"activation": "tanh"})
    (z,) = b.add_op("transpose", [z], {"permutation": (0, 2, 3, 1)})
    indices = b.add_constant(np.array([0, 2, 1], np.int64), "indices")
    (z,) = b.add_op("gather", [z, indices], {"axis": 1})
    (z,) = b.add_op("reshape", [z], {"shape": (3, b.vars[z].count // 3)})
    (z,) = b.add_op("gemm", [z, weights(10, b.vars[z].shape[1]), weights(10)])
    (z,) = b.add_op("softmax", [z])
    (a,) = b.add_op("arg_max", [z], {"axis": 1})
    (q,) = b.add_op("cast", [z], {"to": "i8"})
    b.vars[q].quantization = Quantization.of(0.5, 3)
    scales = Quantization.of(np.arange(1, 11), 0, 1)
    more = b.add_constant(np.ones((1, 10), np.int8), "more", scales)
    (q,) = b.add_op("concat", [q, more], {"axis": 0})
    program.outputs = [z, a, q]
    return program


@pytest.mark.parametrize("seed", range(4))
def test_damaged_models_with_a_valid_checksum_never_crash_the_engine(
    tmp_path: Path, seed: int
) -> None:
    chosen = {
        "strassen": "strassen",
        "dilated": "dilated",
        "squares": "winograd_5",
        "separable": "expand_depthwise_project",
    }
    plan = Plan(operators={name: Choice(algorithm) for name, algorithm in chosen.items()})
    planned = trimtab.optimize(network(), plan=plan)
    types = {op.type for op in planned.ops}
    convolutions = ("depthwise", "dilated", "separable", "strassen", "winograd")
    assert {"conv", "add", *(f"conv_{name}" for name in convolutions)} <= types
    assert {"pack_panels", "pack_strassen", "pack_winograd"} <= types
    planned.save(tmp_path / "net.ttm")
    result = subprocess.run(
        [sys.executable, "-m", "tests.engine.hostile", tmp_path / "net.ttm", str(seed), "1500"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert result.returncode == 0, result.stderr
    accepted, refused = (int(word) for word in result.stdout.split()[1::2])
    assert accepted + refused == 1500
    assert refused > 500
