"""The variants of a plan, by preference and storage of weights, and the size of each; ncnn's size
beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import process_time_ns

from trimtab import modelfile
from trimtab.errors import PlanError
from trimtab.planner import planner
from trimtab.planner.plan_file import WEIGHTS_AUTO, WEIGHTS_TYPES, Plan
from trimtab.program import Program
from trimtab.quantization import noise
from trimtab.quantization.accuracy import Reference
from trimtab.results.footprint import Footprint
from trimtab.session import Session
from trimtab.target import Target

# ncnn's converter stores weights as f16 by default (`int fp16 = 1`: github.com/Tencent/ncnn,
# tools/pnnx/src/main.cpp), and so does ncnnoptimize with the flag 65536 of its documentation.
NCNN = "ncnn .bin, f16 weights (derived)"
PREFERENCES = ("load", "balanced", "size")  # the fastest to load first
_SMALLER = ("f16", "int8", "bits4")  # types of weights beside the plan's
_SAMPLES = 2  # of noise, for the accuracy of smaller weights
_LOADS, _LOADING_NS = 5, 50_000_000  # at most, of each variant


@dataclass(frozen=True)
class Variant:
    """A network planned with one preference; its footprint has no binary yet."""

    plan: Plan
    program: Program
    footprint: Footprint


@dataclass(frozen=True)
class Variants:
    """An optimized network, its target machine, and the plan whose preference varies. `names`: the
    model file keeps names; `embedded`: the binary holds the model. `bare`: the network before
    cameras and a head, whose accuracy with smaller weights is measured.
    """

    optimized: Program
    target: Target
    plan: Plan
    names: bool = True
    embedded: bool = False
    bare: Program | None = None

    def planned(self, preferences: Sequence[str] = PREFERENCES) -> Iterator[Variant]:
        """The network planned with each preference."""
        programs = planner.plans(self.optimized, self.target, self.plan, preferences)
        for name, program in zip(preferences, programs, strict=True):
            footprint = self.footprint(program, f"prefer {name}")
            yield Variant(replace(self.plan, prefer=name), program, footprint)

    def others(self) -> Iterator[Footprint]:
        """The footprint with each of the other preferences, and with smaller weights, if these
        can be stored so.
        """
        others = [name for name in PREFERENCES if name != self.plan.prefer]
        programs = planner.plans(self.optimized, self.target, self.plan, others)
        for name, program in zip(others, programs, strict=True):
            yield self.footprint(program, f"prefer {name}", consume=True)
        smaller = self._smaller()
        samples = noise(self.bare, _SAMPLES) if self.bare and smaller else None
        exact = Reference(self.bare, samples) if self.bare and samples else None
        for dtype in smaller:
            stored = replace(self.plan, weights_type=dtype, stored={})
            with suppress(PlanError):  # a weight that is too large for the type
                (program,) = planner.plans(self.optimized, self.target, stored, [stored.prefer])
                one = self.footprint(program, f"weights {dtype}", consume=True)
                if self.bare and exact:
                    one = replace(one, cosine=exact.compare(self.bare, plan=stored.numbers).cosine)
                yield one

    def _smaller(self) -> tuple[str, ...]:
        """The types of stored weights that are smaller than the plan's, all beside a choice."""
        if self.plan.precision != "f32" or self.plan.prefer == "load":
            return ()
        if self.plan.weights_type == WEIGHTS_AUTO:
            return ("f32", *_SMALLER)
        place = WEIGHTS_TYPES.index(self.plan.weights_type)
        return tuple(dtype for dtype in _SMALLER if WEIGHTS_TYPES.index(dtype) > place)

    def footprint(self, program: Program, what: str, *, consume: bool = False) -> Footprint:
        """The size of a planned network's model file, the memory of an engine that runs it (the
        arena, prepared weights, and the part of the file that stays mapped), and the CPU time in
        which this machine loads it, the least of a few.

        `consume`: free the program's constants on the way, to save memory.
        """
        dropped = [] if self.embedded else _dropped(program)
        image = modelfile.encode(program, self.names, consume=consume, packed=True)
        decoded = modelfile.decode(image, program.name)
        memory, times = dict[str, int](), list[int]()
        while len(times) < _LOADS and sum(times) < _LOADING_NS:
            begin = process_time_ns()  # other processes of this machine are not part of it
            session = Session(decoded, self.target.threads)
            times.append(process_time_ns() - begin)
            memory = session.memory
            del session  # before the next one takes memory
        file_bytes = max(image.size - sum(dropped), *dropped, 0)
        memory_bytes = memory["arena_bytes"] + memory["prepared_bytes"] + file_bytes
        # 0: shorter than the clock's resolution.
        load_ns = min(times) or None
        return Footprint(f"trimtab, {what}", image.size, memory_bytes=memory_bytes, load_ns=load_ns)


def _dropped(planned: Program) -> list[int]:
    """The sizes, in bytes, of the constants that the engine reads at load and then drops."""
    read = {name for op in planned.ops if not op.schema.prepares for name in op.inputs}
    prepared = {name for op in planned.ops if op.schema.prepares for name in op.inputs} - read
    return [
        var.data.nbytes
        for var in planned.constants()
        if var.name in prepared and var.data is not None
    ]


def ncnn_bytes(optimized: Program) -> int:
    """The size of ncnn's .bin file without its four-byte tag per layer: two bytes per weight, four
    per bias.
    """
    return sum(
        var.bytes // 2 if len(var.shape) > 1 and var.dtype == "f32" else var.bytes
        for var in optimized.constants()
    )
