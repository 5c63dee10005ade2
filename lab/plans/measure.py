"""Estimates the plans of the zoo's networks, for several machines."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab import passes
from trimtab.instruments import plans
from trimtab.instruments.plans import Estimated
from trimtab.pipeline.resolve import load_program
from trimtab.progress import SILENT, Progress


def estimate(networks: Sequence[str], progress: Progress = SILENT) -> list[Estimated]:
    """Plans each network of the zoo for every machine that estimates are kept for."""
    found = []
    with progress.step("plan the networks", "networks") as step:
        for done, name in enumerate(networks):
            step.update(done, len(networks), name)
            program = passes.optimize(load_program(name, progress=progress))
            for target in plans.targets():
                found.append(plans.estimate(name, program, target, plans.before(name, target)))
        step.update(len(networks), len(networks))
    return found
