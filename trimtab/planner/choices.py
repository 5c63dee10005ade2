"""A plan as a file: what is to be decided per operator in the planner's place.

    algorithms = ["depthwise", "direct"]       # what the rule may choose from; default: all

    [operators."/features/conv1"]
    algorithm = "winograd_4"
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from trimtab.errors import PlanError
from trimtab.planner import algorithms
from trimtab.program import Program

Value = str | int | bool


@dataclass(frozen=True)
class Choice:
    """What is decided for one operator. `algorithm`: the name of one, "" leaves it to the rule;
    `values`: names of kernels, and numbers, by plan attribute.
    """

    algorithm: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """What is decided in the planner's place: per operator (see `keys`), and for all others the
    algorithms that its rule may choose from.
    """

    algorithms: tuple[str, ...] = field(default_factory=algorithms.names)
    operators: Mapping[str, Choice] = field(default_factory=dict)

    def __post_init__(self) -> None:
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
            unknown = sorted(set(table) - {"algorithms", "operators"})
            if unknown:
                raise PlanError(f"unknown keys: {', '.join(unknown)}")
            allowed = _strings(table.get("algorithms", [*algorithms.names()]), "algorithms")
            operators = {}
            for key, values in _table(table.get("operators", {}), "operators").items():
                where = f"operators.{json.dumps(key, ensure_ascii=False)}"
                row = _table(values, where)
                wrong = [name for name, value in row.items() if not isinstance(value, Value)]
                if wrong or not isinstance(row.get("algorithm", ""), str):
                    raise PlanError(
                        f"{', '.join(wrong) or 'algorithm'} of {where} must be "
                        + ("a name, a number, true or false" if wrong else "a name in quotes")
                    )
                operators[key] = Choice(row.pop("algorithm", ""), row)
            return Plan(tuple(allowed), operators)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
            raise PlanError(str(e), where=str(path)) from None
        except PlanError as e:
            hint = (
                e.hint
                or "a plan has algorithms, and per operator an algorithm, kernels and numbers"
            )
            raise PlanError(e.what, where=str(path), hint=hint) from None

    def to_toml(self, title: str = "") -> str:
        """The plan as the text of a TOML file, below a comment."""
        operators = {}
        for key, choice in self.operators.items():
            row = {"algorithm": choice.algorithm, **choice.values}
            operators[key] = {name: value for name, value in row.items() if value != ""}
        shown = "".join(c if c.isprintable() else " " for c in title)
        comment = f"# {shown}\n" if title else ""
        return comment + tomli_w.dumps({"algorithms": self.algorithms, "operators": operators})

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
    found = {}
    for key, op in zip(keys(planned), planned.ops, strict=True):
        names = [a.name for a in op.schema.attributes if a.plan]
        chosen = {name: value for name in names if (value := op.attributes[name]) != ""}
        if chosen:
            algorithm = algorithms.of(op)
            found[key] = Choice(algorithm.name if algorithm else "", chosen)
    return Plan(operators=found)
