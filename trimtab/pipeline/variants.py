"""What would be shipped of a network: with each preference, and by a peer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from trimtab import importers, modelfile
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.results.footprint import Footprint
from trimtab.session import Session
from trimtab.target import Target

# ncnn's own converter stores weights as f16 unless it is told otherwise (`int fp16 = 1`:
# github.com/Tencent/ncnn, tools/pnnx/src/main.cpp), and so does ncnnoptimize with the flag 65536
# that its documentation shows.
NCNN = "ncnn .bin, f16 weights (derived)"


@dataclass(frozen=True)
class Network:
    """A network, optimized, and the machine that it is to run on. `plan`: what is decided for it;
    `names`: its file keeps them; `embedded`: the binary holds it.
    """

    optimized: Program
    target: Target
    plan: Plan = field(default_factory=Plan)
    names: bool = True
    embedded: bool = False

    def ways(self) -> Iterator[tuple[Plan, Footprint]]:
        """Each preference, the fastest to load first, without a binary."""
        preferred = [replace(self.plan, prefer=name) for name in ("load", "balanced", "size")]
        names = [plan.prefer for plan in preferred]
        made = planner.plans(self.optimized, self.target, self.plan, names)
        for plan, planned in zip(preferred, made, strict=True):
            yield plan, self._weighed(planned, plan.prefer)

    def _weighed(self, planned: Program, prefer: str) -> Footprint:
        """A plan's model file, and the memory of an engine that runs it: the arena, the weights
        that it prepares, and what it needs of the file.
        """
        dropped = [] if self.embedded else _dropped(planned)
        image = modelfile.encode(planned, self.names, consume=True)
        held = Session(modelfile.decode(image, planned.name), self.target.threads).memory
        of_file = max(image.size - sum(dropped), *dropped, 0)
        memory_bytes = held["arena_bytes"] + held["prepared_bytes"] + of_file
        return Footprint(f"trimtab, prefer {prefer}", image.size, memory_bytes=memory_bytes)


def _dropped(planned: Program) -> list[int]:
    """Bytes of each constant that the engine reads when it loads, and drops from memory then."""
    read = {name for op in planned.ops if not op.schema.prepares for name in op.inputs}
    prepared = {name for op in planned.ops if op.schema.prepares for name in op.inputs} - read
    return [
        var.data.nbytes
        for var in planned.constants()
        if var.name in prepared and var.data is not None
    ]


def survey(network: Network, path: Path, binary_bytes: int) -> list[Footprint]:
    """The way that was built, into a binary of that size, the others, and what else there is: the
    network's own file, which is at `path`, and what ncnn makes of it.
    """
    found = []
    for plan, way in network.ways():
        if plan == network.plan:
            model_bytes = 0 if network.embedded else way.model_bytes
            way = replace(  # noqa: PLW2901
                way, binary_bytes=binary_bytes, model_bytes=model_bytes, is_built=True
            )
        found.append(way)
    found.sort(key=lambda way: not way.is_built)
    source_bytes = sum(file.stat().st_size for file in importers.files(path))
    others = [Footprint(f"{path.name} (source)", source_bytes)]
    return [*found, *others, Footprint(NCNN, ncnn_bytes(network.optimized))]


def ncnn_bytes(optimized: Program) -> int:
    """What ncnn's .bin weighs, but for a tag of four bytes for each layer: two bytes for each
    weight, four for each bias.
    """
    return sum(
        var.bytes // 2 if len(var.shape) > 1 and var.dtype == "f32" else var.bytes
        for var in optimized.constants()
    )
