"""What would be shipped of a network: with each preference, and by a peer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from trimtab import importers, modelfile
from trimtab.bench.shipped import Shipped
from trimtab.planner import planner
from trimtab.planner.choices import Plan
from trimtab.program import Program
from trimtab.session import Session
from trimtab.target import Target

# ncnn's own converter stores weights as f16 unless it is told otherwise (`int fp16 = 1`:
# github.com/Tencent/ncnn, tools/pnnx/src/main.cpp), and so does ncnnoptimize with the flag 65536
# that its documentation shows.
NCNN = "ncnn .bin, f16 weights (derived)"


@dataclass(frozen=True)
class Network:
    """A network, optimised, and the machine that it is to run on. `plan`: what is decided for it;
    `names`: its file keeps them.
    """

    optimised: Program
    target: Target
    plan: Plan = field(default_factory=Plan)
    names: bool = True

    def ways(self) -> Iterator[tuple[Plan, Shipped]]:
        """Each preference, the fastest to load first, without a binary."""
        for plan in preferences(self.plan):
            yield plan, self._weighed(plan)

    def _weighed(self, plan: Plan) -> Shipped:
        """A plan's model file, and the memory of an engine that runs it: the arena, the weights
        that it prepares, and the file, all of which is mapped.
        """
        planned = planner.plan(self.optimised, self.target, plan)
        image = modelfile.encode(planned, self.names, consume=True)
        held = Session(modelfile.decode(image, planned.name), self.target.threads).memory
        return Shipped("trimtab", image.size, memory_bytes=image.size + held["arena_bytes"])


def survey(
    network: Network, path: Path, binary_bytes: int, *, embedded: bool = False
) -> list[Shipped]:
    """The way that was built, into a binary of that size, the others, and what else there is: the
    network's own file, which is at `path`, and what ncnn makes of it.
    """
    found = []
    for plan, way in network.ways():
        if plan == network.plan:
            model_bytes = 0 if embedded else way.model_bytes
            way = replace(  # noqa: PLW2901
                way, binary_bytes=binary_bytes, model_bytes=model_bytes, is_built=True
            )
        found.append(way)
    found.sort(key=lambda way: not way.is_built)
    source_bytes = sum(file.stat().st_size for file in importers.files(path))
    others = [Shipped(f"{path.name} (source)", source_bytes)]
    return [*found, *others, Shipped(NCNN, ncnn_bytes(network.optimised))]


def preferences(plan: Plan) -> list[Plan]:
    """What plans may prefer besides what `plan` says, the fastest to load first."""
    return [plan]


def ncnn_bytes(optimised: Program) -> int:
    """What ncnn's .bin weighs, but for a tag of four bytes for each layer: two bytes for each
    weight, four for each bias.
    """
    return sum(
        var.bytes // 2 if len(var.shape) > 1 and var.dtype == "f32" else var.bytes
        for var in optimised.constants()
    )
