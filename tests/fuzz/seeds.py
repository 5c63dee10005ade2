"""Where fuzzing begins: `python -m tests.fuzz.seeds FOLDER` writes every operator vector there as a
model that is planned for this machine, each behind it some bytes to decide from. An operator with
vectors is fuzzed without a line more.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import onnx

import trimtab
from tests.engine.test_hostile_models import network
from tests.ops.cases import all_cases
from tests.ops.quantised import QuantisedGraph
from trimtab import files, modelfile
from trimtab.program import Program
from trimtab.target import Target

MOST_BYTES = 32 * 1024  # of a seed: what is small is mutated often
DECISIONS = 64


def quantised() -> onnx.ModelProto:
    """Integers from the first convolution to the last."""
    graph = QuantisedGraph()
    x = graph.pair(graph.input(1, 6, 9, 8), 0.03, 4)
    weights = graph.weights(10, 6, 3, 3, scales=10)
    y = graph.conv(x, 0.03, *weights, pads=[1, 1, 1, 1])
    y = graph.pair(graph.node("Relu", y), 0.05, -128)
    depthwise = graph.weights(10, 1, 3, 3, scales=10)
    z = graph.conv(y, 0.05, *depthwise, group=10, pads=[1, 1, 1, 1])
    z = graph.pair(z, 0.04, 3)
    y = graph.pair(graph.node("Add", y, z), 0.06, -7)
    y = graph.node("GlobalAveragePool", y)
    return graph.model(graph.pair(y, 0.02, 1))


def programs(folder: Path) -> dict[str, Program]:
    """By name; `folder` is for files on the way."""
    found = {"hostile": network()}
    models = {case.id: case.model for case in all_cases()} | {"quantised": quantised()}
    path = folder / "case.onnx"
    for name, model in models.items():
        path.write_bytes(model.SerializeToString())
        found[name] = trimtab.load(path)
    path.unlink()
    return found


def write(folder: Path) -> int:
    """Writes all seeds that are small enough; how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for name, program in programs(folder).items():
        image = modelfile.encode(trimtab.optimize(program, Target.host()))
        if image.size <= MOST_BYTES:
            decisions = random.Random(name).randbytes(DECISIONS)
            files.write_bytes(folder / f"{name}.bin", image.tobytes() + decisions)
            count += 1
    return count


if __name__ == "__main__":
    print(f"{write(Path(sys.argv[1]))} seeds")
