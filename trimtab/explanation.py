"""Explains a model layer by layer: what is supported, why others are not, what would help, and what
each weighs and costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

from trimtab import importers, passes, strict_json
from trimtab.importers import Model
from trimtab.importers._walk import UnsupportedLayersError, ends
from trimtab.importers.free_dimensions.bounds import FreeShapes
from trimtab.planner import planner
from trimtab.planner.packing.loading import StoredConstants, stored_constants
from trimtab.planner.plan_file import WEIGHTS_TYPES, Plan
from trimtab.program import ImportedLayerFacts, Program, inspection, lineage
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Page, Table, number
from trimtab.target import Target

T = TypeVar("T")

_LEAST_SHARE = 0.0005  # of the time, which is shown as 0.0 %


@dataclass(frozen=True)
class ExplainedLayer:
    """One layer of the file: the types of the `operators` that it becomes, their multiply-
    accumulates and the bytes of their constants; `share`: of the modeled time of an inference on
    this machine, None where the network is not supported as a whole, and for a layer that is
    computed along with another. A layer without operators is constant, or changes nothing.
    `refused`: why it is not supported; a layer that reads the result of such a one is not
    `checked`. `stored`: its constants in a planned file, those of fused layers included.
    """

    title: str
    operators: tuple[str, ...]
    macs: int
    constant_bytes: int
    share: float | None
    refused: tuple[str, ...]
    checked: bool
    stored: StoredConstants

    @property
    def verdict(self) -> str:
        """A word for refused layers, or the types of the operators."""
        if self.refused:
            return "not supported"
        if not self.checked:
            return "not checked: reads what is not supported"
        return ", ".join(f"{n} {t}" if n > 1 else t for t, n in Counter(self.operators).items())

    @property
    def is_free(self) -> bool:
        """Whether it is not refused, and costs neither bytes nor time as far as is known."""
        is_fast = self.share is None or self.share < _LEAST_SHARE
        return is_fast and not (self.macs or self.constant_bytes or self.refused)


@dataclass(frozen=True)
class Explanation:
    """A model's layers in the order of the file. `cuts`: where layers are refused, the tensors up
    to which the network is supported.
    """

    network: str
    layers: tuple[ExplainedLayer, ...]
    cuts: tuple[str, ...]

    def __repr__(self) -> str:
        refused = len(self.refused)
        return f"<Explanation {self.network}: {len(self.layers)} layers, {refused} not supported>"

    @property
    def refused(self) -> tuple[ExplainedLayer, ...]:
        """The layers that are not supported."""
        return tuple(layer for layer in self.layers if layer.refused)

    def advice(self) -> list[str]:
        """Remedies, a line for each; none if all layers are supported."""
        if not self.refused:
            return []
        other = "export the network without these layers, or in another form: docs/importers.md "
        cut = " ".join(f"--tensor {name}" for name in self.cuts)
        keeps = sum(layer.checked and not layer.refused for layer in self.layers)
        cuts = [f"compute the rest in your program: `inv convert {cut}` keeps {keeps} layers"]
        return [
            f"{other}lists what is supported",
            "write the missing operators as a plug-in: `inv plugin.new`, docs/plugins.md",
            *(cuts if self.cuts else []),
        ]

    def page(self, *, whole: bool = True) -> Page:
        """The table of all layers, or unless `whole` of those that cost something; then refused
        layers, what would help, and last the verdict.
        """
        unchecked = sum(not layer.checked for layer in self.layers)
        counts = f"{len(self.layers)} layers, {len(self.refused) or 'all'} "
        counts += "not supported" if self.refused else "supported"
        after = f", {unchecked} not checked, because they read results of those"
        shown = [layer for layer in self.layers if whole or not layer.is_free]
        page: list[str | Table] = [self._table(shown)] if shown else []
        if folded := len(self.layers) - len(shown):
            page.append(f"{folded} layers that cost nothing are left out: --all shows them")
        if self.refused:
            columns = Column("not supported"), Column("reason")
            rows = [(layer.title, "\n".join(layer.refused)) for layer in self.refused]
            page.append(Table(columns, rows))
            page.append("\n".join(["what would help:", *(f"  {line}" for line in self.advice())]))
        return [*page, f"{self.network}: {counts}{after if unchecked else ''}"]

    def _table(self, layers: Sequence[ExplainedLayer]) -> Table:
        columns = [
            Column("layer"),
            Column("becomes"),
            number("MACs", ","),
            number("constants (bytes)", ","),
            number("share of time", ".1%"),
            Column("stored as"),
            number("in the file (bytes)", ","),
            number("expanding (instructions)", ","),
        ]
        rows = [
            (
                *(layer.title, layer.verdict, layer.macs, layer.constant_bytes, layer.share),
                *(layer.stored.form, layer.stored.bytes, layer.stored.instructions),
            )
            for layer in layers
        ]
        has_smaller = any(layer.stored.form in WEIGHTS_TYPES[1:] for layer in layers)
        count = len(columns) if has_smaller else 5
        return Table(columns[:count], [row[:count] for row in rows])

    def to_json(self) -> str:
        """The explanation as JSON."""
        return strict_json.dumps({**asdict(self), "advice": self.advice()}, indent=2)


def explain(
    model: Model,
    inputs: FreeShapes | None = None,
    progress: Progress = SILENT,
    plan: Plan | None = None,
) -> Explanation:
    """Explains a model of any format; see `trimtab.load` for arguments and errors.

    Layers that are not supported are explained instead of refused; a free batch is 1. `plan`: how
    the file stores weights; its other choices have no effect.
    """
    shares: Mapping[int, float] = {}
    stored: Mapping[int, StoredConstants] = {}
    cuts: tuple[str, ...] = ()
    try:
        program, _ = importers.load_at_batch_one(model, inputs or {}, progress.note)
        forms = Plan(weights_type=plan.weights_type, stored=plan.stored) if plan else Plan()
        planned = planner.plan(passes.optimize(program), Target.host(), forms)
        shares = _of_layers(program, planned, _shares(planned))
        stored = _of_layers(program, planned, [*stored_constants(planned)])
    except UnsupportedLayersError as error:
        program = error.supported
        cuts = ends(program)
    facts, constants = inspection.inspect(program).ops, _constant_bytes(program)
    # A .ttm file has no other layers than its operators.
    layers = program.layers or [
        ImportedLayerFacts(f"{op.type} '{op.name}'", range(i, i + 1), (), True)
        for i, op in enumerate(program.ops)
    ]
    return Explanation(
        program.name,
        tuple(
            ExplainedLayer(
                layer.title,
                tuple(facts[i].type for i in layer.operators),
                sum(facts[i].macs for i in layer.operators),
                sum(constants[i] for i in layer.operators),
                _sum(shares.get(i) for i in layer.operators),
                layer.refused,
                layer.checked,
                _joined([stored[i] for i in layer.operators if i in stored]),
            )
            for layer in layers
        ),
        cuts,
    )


def _sum(shares: Iterable[float | None]) -> float | None:
    """The sum of what is known; None if nothing is."""
    summands = [share for share in shares if share is not None]
    return sum(summands) if summands else None


def _constant_bytes(program: Program) -> list[int]:
    """The bytes of the constants that each operator is the first to read."""
    result, counted = list[int](), set[str]()
    for op in program.ops:
        own = {n for n in op.inputs if n and program.vars[n].data is not None} - counted
        counted |= own
        result.append(sum(program.vars[name].bytes for name in own))
    return result


def _joined(stored: Sequence[StoredConstants]) -> StoredConstants:
    """The constants of a layer that becomes several operators."""
    largest = max(stored, key=lambda one: one.bytes, default=StoredConstants())
    sums = (sum(one.bytes for one in stored), sum(one.instructions for one in stored))
    return StoredConstants(largest.form, *sums)


def _shares(planned: Program) -> list[float]:
    """The share of each step in the modeled time of an inference on this machine."""
    cycles = planner.operator_cycles(planned, Target.host())
    total = sum(cycles) or 1.0
    return [one / total for one in cycles]


def _of_layers(program: Program, planned: Program, facts: Sequence[T]) -> dict[int, T]:
    """The facts of each step of the plan, unless they are empty, by the index of an operator of
    `program`: of those that the step computes, the one with the most multiply-accumulates.
    """
    by_step = {id(op): fact for op, fact in zip(planned.steps, facts, strict=True)}
    originals: dict[int, list[int]] = {}
    for index, successor in enumerate(lineage.successors(program, planned)):
        if successor is not None:
            originals.setdefault(successor, []).append(index)
    return {
        max(indices, key=lambda i: inspection.macs(program, program.ops[i])): fact
        for successor, indices in originals.items()
        if (fact := by_step.get(id(planned.ops[successor])))
    }
