"""Explains a model layer by layer: what is supported, why others are not, what would help, and what
each weighs and costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from trimtab import importers, passes, strict_json
from trimtab.importers import Model
from trimtab.importers._walk import UnsupportedLayersError, ends
from trimtab.importers.free_dimensions.bounds import FreeShapes
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.program import ImportedLayerFacts, Program, inspection, lineage
from trimtab.progress import SILENT, Progress
from trimtab.tables import Column, Page, Table, number
from trimtab.target import Target

_LEAST_SHARE = 0.0005  # of the time, which is shown as 0.0 %


@dataclass(frozen=True)
class ExplainedLayer:
    """One layer of the file: the types of the `operators` that it becomes, their multiply-
    accumulates and the bytes of their constants; `share`: of the modeled time of an inference on
    this machine, None where the network is not supported as a whole, and for a layer that is
    computed along with another. A layer without operators is constant, or changes nothing.
    `refused`: why it is not supported; a layer that reads the result
    of such a one is not `checked`.
    """

    title: str
    operators: tuple[str, ...]
    macs: int
    constant_bytes: int
    share: float | None
    refused: tuple[str, ...]
    checked: bool

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
        ]
        rows = [
            (layer.title, layer.verdict, layer.macs, layer.constant_bytes, layer.share)
            for layer in layers
        ]
        return Table(columns, rows)

    def to_json(self) -> str:
        """The explanation as JSON."""
        return strict_json.dumps({**asdict(self), "advice": self.advice()}, indent=2)


def explain(
    model: Model, inputs: FreeShapes | None = None, progress: Progress = SILENT
) -> Explanation:
    """Explains a model of any format; see `trimtab.load` for arguments and errors.

    Layers that are not supported are explained instead of refused; a free batch is 1.
    """
    try:
        program, _ = importers.load_at_batch_one(model, inputs or {}, progress.note)
        shares, cuts = _shares(program), tuple[str, ...]()
    except UnsupportedLayersError as error:
        program, shares = error.supported, {}
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


def _shares(program: Program) -> dict[int, float]:
    """The share of operators, by index, in the modeled time of an inference on this machine. That
    of a fused operator belongs to its original with the most multiply-accumulates.
    """
    target = Target.host()
    planned = planner.plan(passes.optimize(program), target, Plan())
    modeled = zip(planned.steps, planner.operator_cycles(planned, target), strict=True)
    cycles = {id(op): one for op, one in modeled}
    total = sum(cycles.values()) or 1.0
    originals: dict[int, list[int]] = {}
    for index, successor in enumerate(lineage.successors(program, planned)):
        if successor is not None:
            originals.setdefault(successor, []).append(index)
    return {
        max(indices, key=lambda i: inspection.macs(program, program.ops[i])): share
        for successor, indices in originals.items()
        if (share := cycles.get(id(planned.ops[successor]), 0.0) / total)
    }
