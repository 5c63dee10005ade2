"""Compilation of a network uses one core: BLAS threads would wait for each other on a busy machine,
and take longer together than one alone.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

_PACKS = """
import sys
from pathlib import Path
import trimtab
from tests.small_programs import Net
from trimtab.planner.plan_file import Plan
from trimtab.target import Target

def of_others():
    times = {task.name: (task / "schedstat").read_text().split()[0]
             for task in Path("/proc/self/task").iterdir()}
    return {name: int(ns) for name, ns in times.items() if name != str(main)}

import os
main = os.getpid()
net = Net(x=(1, 256, 20, 20))
program = net.finish(net.conv(net.conv("x", 256, 3, pads=(1, 1, 1, 1)), 256, 1))
before = of_others()
planned = trimtab.optimize(program, Target.host(), Plan((sys.argv[1],), prefer="load"))
assert sys.argv[1].split("_")[0] in " ".join(op.type for op in planned.ops), planned.ops
after = of_others()
print(sum(after[name] - before.get(name, 0) for name in after))
"""


@pytest.mark.parametrize("algorithm", ["winograd_4", "strassen"])
def test_weights_are_packed_on_one_core(algorithm: str, root: object) -> None:
    argv = [sys.executable, "-c", _PACKS, algorithm]
    done = subprocess.run(argv, cwd=str(root), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 0
