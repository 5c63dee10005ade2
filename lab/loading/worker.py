"""Creates sessions of trimtab and of onnxruntime; a script that `measure` runs in processes of its
own.

    python worker.py alternate MODEL ROUNDS CACHE   both engines in one process, interleaved
    python worker.py alone ENGINE MODEL CACHE       one engine, in a process that has only it

Prints a line of JSON. CACHE is the folder of trimtab's cache. CPU time is that of all threads of
the process, in nanoseconds.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Create = Callable[[str], Any]

# What is created: onnxruntime's session; trimtab's without and with the plan of an earlier one; and
# the parts of the former.
PEER, OWN, CACHED, LOAD, PLAN = "onnxruntime", "trimtab", "cached", "load", "plan"


def _peer() -> Create:
    import onnxruntime

    def create(model: str) -> object:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    return create


def _trimtab(*, cache: bool) -> Create:
    import trimtab

    return lambda model: trimtab.Session(trimtab.load(model, cache=cache), cache=cache)


def _load(model: str) -> object:
    import trimtab

    return trimtab.load(model, cache=False)


def _plan(model: str) -> object:
    """Planning: from a loaded program to a file in memory."""
    import trimtab
    from trimtab import modelfile, passes
    from trimtab.planner import planner
    from trimtab.target import Target

    program = trimtab.load(model, cache=False)
    start = time.process_time_ns()
    planned = planner.plan(passes.optimize(program), Target.host(), has_all_code=True)
    modelfile.encode(planned, consume=True)
    return time.process_time_ns() - start


def _cpu_ns(create: Create, model: str) -> int:
    """CPU time of a creation; of a creator that returns a number, that number."""
    start = time.process_time_ns()
    created = create(model)
    duration = time.process_time_ns() - start
    return created if isinstance(created, int) else duration


def alternate(model: str, rounds: int) -> dict[str, list[int]]:
    """CPU times of `rounds` creations of each kind, after a first one of each."""
    creators = {
        PEER: _peer(),
        OWN: _trimtab(cache=False),
        CACHED: _trimtab(cache=True),
        LOAD: _load,
        PLAN: _plan,
    }
    duration: dict[str, list[int]] = {name: [] for name in creators}
    for _ in range(1 + rounds):
        for name, create in creators.items():
            duration[name].append(_cpu_ns(create, model))
    return {name: times[1:] for name, times in duration.items()}


def alone(engine: str, model: str) -> dict[str, int]:
    """CPU time of imports and creation, and the peak of resident memory in bytes."""
    import numpy  # noqa: F401 - both engines need it

    start = time.process_time_ns()
    create = _peer() if engine == PEER else _trimtab(cache=engine == CACHED)
    session = create(model)
    duration = time.process_time_ns() - start
    del session
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (peak,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return {"cpu_ns": duration, "peak_bytes": int(peak) * 1024}


def main(arguments: list[str]) -> None:
    """Runs one of the commands above."""
    mode, *rest, cache = arguments
    os.environ["TRIMTAB_CACHE_DIR"] = cache
    print(json.dumps(alternate(rest[0], int(rest[1])) if mode == "alternate" else alone(*rest)))


if __name__ == "__main__":
    main(sys.argv[1:])
