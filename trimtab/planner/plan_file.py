"""A plan as a file: what is to be decided per operator in the planner's place.

    algorithms = ["depthwise", "direct"]       # what the rule may choose from; default: all
    prefer = "load"                            # to the size of the file: it loads at once
    weights_type = "f32"                       # of weights that the engine packs
    precision = "f32"                          # what operators compute in: f32, f16, int8 or mixed
    threads = 4                                # that it will run with

    [precisions]                               # with mixed: those of operators, as searched
    "/features/conv0" = "f32"

    [operators."/features/conv1"]
    algorithm = "winograd_4"
    weights = "load"                           # packed when the model is set up
    kernel = "gemm_f32_6x16_avx2"
    block = 24

Every key may be left out: the planner's rule decides what is not said. docs/planner.md describes
the format and the rules; `planner.plan` checks a plan against its program and target.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomli_w

from trimtab.errors import PlanError
from trimtab.planner import algorithms
from trimtab.planner.packing import Storage
from trimtab.planner.precision import PRECISIONS, TYPES, is_quantized
from trimtab.program import Op, Program
from trimtab.target import Target

Value = str | int | bool

PREFERENCES = ("balanced", "size", "load")
"""What is to be small or fast, beside inferences: the file and the memory traffic, those and the
binary, or the time that it takes to load."""

_WORDS = ("prefer", "weights_type", "precision")  # of a plan file, each one of several
MAX_THREADS = 64  # of an engine

WEIGHTS = ("file", "load")
"""Where weights are packed: before they are written, or when a model is set up."""

WEIGHTS_TYPES = ("f32", "f16")
"""How weights that the engine packs are stored, where they are computed with as f32."""


@dataclass(frozen=True)
class Choice:
    """What is decided for one operator. `algorithm`: the name of one, "" leaves it to the rule;
    `values`: names of kernels, and numbers, by plan attribute; `weights`: where they are packed,
    one of WEIGHTS, "" leaves it to the preference.
    """

    algorithm: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    weights: str = ""

    def __post_init__(self) -> None:
        _one_of("weights", self.weights, ("", *WEIGHTS))


@dataclass(frozen=True)
class Plan:
    """What is decided in the planner's place: per operator (see `keys`), and for all others the
    algorithms that its rule may choose from, and what it is to `prefer`. `weights_type`: how
    weights that the engine packs are stored, where they are computed with as f32. `precision`: the
    type that operators compute in, where the target can (`trimtab.planner.precision`);
    `precisions`: with mixed, that of each operator of the network before it is quantized, by name.
    `threads`: so many will run it; 0: as many as the target says.
    """

    algorithms: tuple[str, ...] = field(default_factory=algorithms.names)
    operators: Mapping[str, Choice] = field(default_factory=dict)
    prefer: str = PREFERENCES[0]
    weights_type: str = WEIGHTS_TYPES[0]
    precision: str = PRECISIONS[0]
    precisions: Mapping[str, str] = field(default_factory=dict)
    threads: int = 0

    def __post_init__(self) -> None:
        _one_of("prefer", self.prefer, PREFERENCES)
        _one_of("weights_type", self.weights_type, WEIGHTS_TYPES)
        _one_of("precision", self.precision, PRECISIONS)
        for name, kind in self.precisions.items():
            _one_of(f"the precision of {name}", kind, TYPES)
        if self.precisions and self.precision != "mixed":
            raise PlanError(
                f"precision is {self.precision}, and operators have precisions of their own",
                hint='with [precisions] it is "mixed"',
            )
        if type(self.threads) is not int or not 0 <= self.threads <= MAX_THREADS:
            raise PlanError(
                f"threads cannot be {self.threads!r}",
                hint=f"use a number from 1 to {MAX_THREADS}",
            )
        named = {*self.algorithms, *(c.algorithm for c in self.operators.values())}
        known = algorithms.names()
        if unknown := sorted(named - {*known, ""}):
            raise PlanError(
                f"unknown algorithm {', '.join(unknown)}", hint=f"use {', '.join(known)}"
            )

    @staticmethod
    def read(path: str | Path) -> Plan:
        """Reads a plan file; PlanError names the file and what is wrong in it."""
        try:
            table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
            known = {"algorithms", "operators", "precisions", "threads", *_WORDS}
            unknown = sorted(set(table) - known)
            if unknown:
                raise PlanError(f"unknown keys: {', '.join(unknown)}")
            allowed = _strings(table.get("algorithms", [*algorithms.names()]), "algorithms")
            operators = {}
            for key, values in _table(table.get("operators", {}), "operators").items():
                where = f"operators.{json.dumps(key, ensure_ascii=False)}"
                row = _table(values, where)
                wrong = [name for name, value in row.items() if not isinstance(value, Value)]
                if wrong:
                    raise PlanError(
                        f"{', '.join(wrong)} of {where} must be a name, a number, true or false"
                    )
                algorithm, weights = (
                    _string(row.pop(name, ""), f"{name} of {where}")
                    for name in ("algorithm", "weights")
                )
                operators[key] = Choice(algorithm, row, weights)
            words = {name: _string(table[name], name) for name in _WORDS if name in table}
            types = _table(table.get("precisions", {}), "precisions")
            types = {name: _string(kind, f"precisions.{name}") for name, kind in types.items()}
            threads = table.get("threads", 0)
            return Plan(tuple(allowed), operators, precisions=types, **words, threads=threads)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
            raise PlanError(str(e), where=str(path)) from None
        except PlanError as e:
            hint = (
                e.hint
                or f"a plan has algorithms, {', '.join(_WORDS)}, threads, and per operator an "
                "algorithm, weights, kernels and numbers"
            )
            raise PlanError(e.what, where=str(path), hint=hint) from None

    def to_toml(self, title: str = "") -> str:
        """The plan as the text of a TOML file, below a comment of a line or more."""
        operators = {}
        for key, choice in self.operators.items():
            row = {"algorithm": choice.algorithm, "weights": choice.weights, **choice.values}
            operators[key] = {name: value for name, value in row.items() if value != ""}
        lines = ["".join(c if c.isprintable() else " " for c in s) for s in title.splitlines()]
        comment = "".join(f"# {line}\n" for line in lines)
        types = {"precisions": dict(self.precisions)} if self.precisions else {}
        return comment + tomli_w.dumps(
            {
                "algorithms": self.algorithms,
                "prefer": self.prefer,
                "weights_type": self.weights_type,
                "precision": self.precision,
                **({"threads": self.threads} if self.threads else {}),
                **types,
                "operators": operators,
            }
        )

    def machine(self, target: Target) -> Target:
        """The target with as many threads as the plan says."""
        return replace(target, threads=self.threads or target.threads)

    def storage(self, choice: Choice) -> Storage:
        """What the file holds of the weights of an operator for which `choice` decides."""
        at_load = (choice.weights or ("file" if self.prefer == "load" else "load")) == "load"
        return Storage(at_load, self.weights_type)

    def of(self, program: Program) -> list[Choice]:
        """What is decided for each operator of `program`; PlanError when it lacks one."""
        left = dict(self.operators)
        found = [left.pop(key, Choice()) for key in keys(program)]
        if left:
            raise PlanError(
                f"the plan has operators that the program has not: {', '.join(map(repr, left))}",
                where=f"program {program.name}",
                hint="./inv inspect MODEL --plan writes a plan with all names",
            )
        return found


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise PlanError(f"{name} cannot be {value!r}", hint=f"use {', '.join(filter(None, known))}")


def _string(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise PlanError(f"{name} must be a name in quotes")
    return value


def _strings(value: Any, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise PlanError(f"{name} must be names in quotes")
    return value


def _table(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise PlanError(f"{name} must be a table")
    return dict(value)


def keys(program: Program) -> list[str]:
    """What a plan calls each operator: its name, or where several have one name, as when a node
    became several operators, the name of its first output.
    """
    counts = Counter(op.name for op in program.ops)
    return [op.name if counts[op.name] == 1 else op.outputs[0] for op in program.ops]


def plan_of(planned: Program) -> Plan:
    """What was decided in a planned program: planning its source with it gives the same again."""
    found, types = {}, {"f32"}
    makers = {op.outputs[0]: op for op in planned.ops if op.schema.prepares}
    for key, op in zip(keys(planned), planned.ops, strict=True):
        if op.schema.prepares:
            if planned.dtype(op) == "f32":
                types.add(planned.vars[op.inputs[0]].dtype)
            continue
        names = [a.name for a in op.schema.attributes if a.plan]
        chosen = {name: value for name in names if (value := op.attributes[name]) != ""}
        if chosen:
            algorithm = algorithms.of(op)
            found[key] = Choice(
                algorithm.name if algorithm else "",
                chosen,
                _weights(op, makers) if algorithm else "",
            )
    results = {planned.vars[name].dtype for op in planned.steps for name in op.outputs}
    half, bytes_ = "f16" in results, is_quantized(planned)
    types_of: dict[str, str] = {}
    if half and bytes_:
        kinds = {"f16": "f16", "i8": "int8", "u8": "int8"}
        types_of = {op.name: kinds.get(planned.dtype(op), "f32") for op in planned.steps}
        precision = "mixed"
    else:
        precision = "f16" if half else "int8" if bytes_ else PRECISIONS[0]
    return Plan(
        operators=found,
        weights_type=min(types),
        precision=precision,
        precisions=types_of,
        threads=planned.threads,
    )


def _weights(op: Op, makers: Mapping[str, Op]) -> str:
    return WEIGHTS[any(name in makers for name in op.inputs)]
