"""Facts about a program: operators, shapes, multiply-accumulates, parameters, memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trimtab import schema, strict_json
from trimtab.engine import provider_of
from trimtab.program import Op, Program, Quantization, lineage
from trimtab.program.memory import activation_bytes, lifetimes
from trimtab.tables import Column, Page, Table, number


@dataclass(frozen=True)
class OpFacts:
    """Facts about one operator. Shapes are logical; `macs` counts multiply-accumulates,
    `parameters` the elements of constants.
    """

    name: str
    type: str
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    macs: int
    parameters: int
    kernel: str
    attributes: dict[str, Any]


@dataclass(frozen=True)
class ProgramFacts:
    """Facts about a program. `activation_bytes` is the peak size of the live computed tensors.
    `quantized` maps quantized tensors to their quantization.
    """

    name: str
    target: str
    inputs: dict[str, tuple[int, ...]]
    outputs: dict[str, tuple[int, ...]]
    quantized: dict[str, Quantization]
    operators: dict[str, int]
    macs: int
    parameters: int
    activation_bytes: int
    ops: tuple[OpFacts, ...]


def inspect(program: Program) -> ProgramFacts:
    """The facts of a program, planned or not."""
    ops = tuple(_op_facts(program, op) for op in program.ops)
    return ProgramFacts(
        name=program.name,
        target=program.target,
        inputs={name: program.vars[name].shape for name in program.inputs},
        outputs={name: program.vars[name].shape for name in program.outputs},
        quantized=_quantized(program),
        operators=dict(Counter(op.type for op in program.ops).most_common()),
        macs=sum(op.macs for op in ops),
        parameters=sum(var.count for var in _weights(program)),
        activation_bytes=activation_bytes(program),
        ops=ops,
    )


def _quantized(program: Program) -> dict[str, Quantization]:
    used = {name for op in program.ops for name in (*op.inputs, *op.outputs)}
    return {
        v.name: v.quantization for v in program.vars.values() if v.name in used and v.quantization
    }


def _weights(program: Program) -> list[Any]:
    used = {name for op in program.ops for name in op.inputs}
    return [var for var in program.constants() if var.name in used]


def _op_facts(program: Program, op: Op) -> OpFacts:
    shapes = tuple(program.vars[name].shape if name else () for name in op.inputs)
    defaults = {a.name: a.default for a in op.schema.attributes}
    weights = [program.vars[n] for n in op.inputs if n and program.vars[n].data is not None]
    return OpFacts(
        name=op.name,
        type=op.type,
        inputs=shapes,
        outputs=tuple(program.vars[name].shape for name in op.outputs),
        macs=macs(program, op),
        parameters=sum(var.count for var in weights),
        kernel=kernel_of(op),
        attributes={
            k: v
            for k, v in op.attributes.items()
            if v != defaults[k] and not op.schema.attribute(k).plan
        },
    )


def kernel_of(op: Op) -> str:
    """The planned kernel, or the implementation of an operator that is registered at run time."""
    if op.schema.run_time:
        return f"at run time: {provider_of(op.schema.id) or 'nothing here'}"
    return str(op.attributes.get("kernel", ""))


def macs(program: Program, op: Op) -> int:
    """Multiply-accumulates of one operator by its definition, whatever its algorithm; 0 if it is
    not a sum of products.
    """
    if op.schema.macs is None:
        return 0
    names = [port.name for port in (*op.schema.inputs[: len(op.inputs)], *op.schema.outputs)]
    shapes = [program.vars[name].shape if name else () for name in (*op.inputs, *op.outputs)]
    return op.schema.macs.count(dict(zip(names, shapes, strict=True)))


def network(program: Program, before: Program | None = None) -> dict[str, Any]:
    """The description of the network in a run record, for the charts of its report.

    `operators`, in execution order: label, multiply-accumulates, bytes of constants, bytes of
    computed tensors, the operators that it `reads` from, and whether it `prepares` constants before
    inference. `memory`: the tensors of the arena, from the operator `first` to `last`. `before`:
    the operators of the imported network, and the operator that each `becomes` (see `lineage`);
    empty without the imported network. There, an operator `prepares` if it reads only constants, as
    one that dequantizes weights.
    """
    operators = []
    for op, reads in zip(program.ops, _reads(program), strict=True):
        used = [program.vars[name] for name in (*op.inputs, *op.outputs) if name]
        weights = sum(var.bytes for var in used if var.data is not None)
        operators.append(
            {
                "label": _label(op),
                "macs": macs(program, op),
                "weights_bytes": weights,
                "moved_bytes": sum(var.bytes for var in used if var.data is None),
                "reads": reads,
                "prepares": op.schema.prepares,
            }
        )
    origins = []
    if before:
        becomes, constant = lineage.successors(before, program), _constant_operators(before)
        zipped = zip(before.ops, _reads(before), becomes, constant, strict=True)
        origins = [
            {"label": _label(op), "reads": reads, "becomes": index, "prepares": is_constant}
            for op, reads, index, is_constant in zipped
        ]
    memory = [asdict(tensor) for tensor in lifetimes(program)]
    return {"operators": operators, "memory": memory, "before": origins}


def _constant_operators(program: Program) -> list[bool]:
    """One flag per operator: whether it reads only constants and what is computed from constants.

    An operator without inputs counts, as it computes the same in every inference.
    """
    constants = {var.name for var in program.constants()}
    result = []
    for op in program.ops:
        is_constant = all(name in constants for name in op.inputs if name)
        constants |= set(op.outputs) if is_constant else set()
        result.append(is_constant)
    return result


def _label(op: Op) -> str:
    return f"{op.type} {op.name}"


def _reads(program: Program) -> list[list[int]]:
    """For each operator the operators that it reads from, including those that write into slices of
    a concatenated tensor.
    """
    producers: dict[str, set[int]] = {}
    for i, op in enumerate(program.ops):
        for name in op.outputs:
            producers.setdefault(name, set()).add(i)
            if parent := program.vars[name].parent:
                producers.setdefault(parent, set()).add(i)
    reads = []
    for op in program.ops:
        sources = [
            producers.get(name) or producers.get(program.vars[name].parent, set())
            for name in op.inputs
            if name
        ]
        reads.append(sorted(set().union(*sources)))
    return reads


def to_json(facts: Sequence[ProgramFacts], more: Mapping[str, Any]) -> str:
    """A JSON object with `program`, with `optimized` if there are two facts, and with `more`."""
    programs = zip(("program", "optimized"), map(asdict, facts), strict=False)
    return strict_json.dumps({**dict(programs), **more}, indent=1)


def page(facts: Sequence[ProgramFacts], *, whole: bool = True) -> Page:
    """The operators of a program, or of a program before and after optimization, and the totals;
    unless `whole`, without those that only move or map elements.
    """
    columns = [Column(""), *map(number, ["model"] if len(facts) == 1 else ["before", "after"])]
    types = dict.fromkeys(type for f in facts for type in f.operators)
    totals = [
        ("operators", *(len(f.ops) for f in facts)),
        *((f"  {type}", *(f.operators.get(type) for f in facts)) for type in types),
        ("MACs", *(f"{f.macs:,}" for f in facts)),
        ("parameters", *(f"{f.parameters:,}" for f in facts)),
        ("activation memory (bytes)", *(f"{f.activation_bytes:,}" for f in facts)),
    ]
    inputs_and_outputs = {"inputs: ": facts[0].inputs, "outputs:": facts[0].outputs}
    lines = [
        f"{label} {', '.join(f'{name} {list(shape)}' for name, shape in tensors.items())}"
        for label, tensors in inputs_and_outputs.items()
    ]
    quantized = facts[-1].quantized
    rows = [(name, str(quantization)) for name, quantization in quantized.items()]
    quantizations = [Table([Column(""), Column("")], rows, "quantized:")] if quantized else []
    shown = [[op for op in f.ops if whole or not _is_free(op)] for f in facts]
    if folded := sum(len(f.ops) for f in facts) - sum(map(len, shown)):
        lines.insert(
            0, f"{folded} operators that only move or map elements are left out: --all shows them"
        )
    tables = [_operators(f, ops) for f, ops in zip(facts, shown, strict=True)]
    return [*tables, Table(columns, totals), *quantizations, "\n".join(lines)]


def _is_free(op: OpFacts) -> bool:
    operator = schema.operators().get(op.type)
    is_simple = operator is not None and operator.kind in ("unary", "movement")
    is_simple &= "kernel_shape" not in op.attributes  # pooling moves maxima
    return is_simple and not (op.macs or op.parameters or op.kernel)


def _operators(facts: ProgramFacts, ops: Sequence[OpFacts]) -> Table:
    rows = [
        (
            *(op.name, op.type, _shapes(op.inputs[:1]), _shapes(op.outputs)),
            *(op.macs, op.parameters, op.kernel or _attributes(op.attributes)),
        )
        for op in ops
    ]
    columns = [
        *map(Column, ("name", "operator", "input", "output")),
        *(number("MACs", ","), number("parameters", ",")),
        Column("kernel" if facts.target else "attributes"),
    ]
    title = f"{facts.name}, planned for {facts.target}" if facts.target else facts.name
    return Table(columns, rows, title)


def _shapes(shapes: Sequence[tuple[int, ...]]) -> str:
    return " ".join("x".join(map(str, shape)) or "-" for shape in shapes)


def _attributes(attributes: dict[str, Any]) -> str:
    return " ".join(f"{k}={list(v) if isinstance(v, tuple) else v}" for k, v in attributes.items())
