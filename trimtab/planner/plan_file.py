"""Plan files: overrides of the planner's decisions, per operator and for a whole program.

    algorithms = ["depthwise", "direct"]       # what the rule may choose from; default: all
    prefer = "load"                            # minimize load time instead of file size
    weights_type = "f32"                       # storage of weights that the engine packs
    accuracy = "balanced"                      # how exact float32 is to be: or strict, or fast
    precision = "f32"                          # dtype of the operators: f32, f16, int8 or mixed
    threads = 4                                # threads that the program will run with

    [precisions]                               # for int8 and mixed: by operator
    "/features/conv0" = "f32"

    [stored]                                   # for the weights_type auto: by operator
    "/features/conv0" = "int8"

    [operators."/features/conv1"]
    algorithm = "winograd_4"
    weights = "load"                           # packed when the model is set up
    kernel = "gemm_f32_6x16_avx2"
    block = 24

Every key may be omitted: the planner's rule then decides. docs/planner.md describes the format and
the rules; `planner.plan` checks a plan against its program and target.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import tomli_w

from trimtab import escape
from trimtab.errors import PlanError
from trimtab.paths import PROGRAM
from trimtab.planner import algorithms
from trimtab.planner.packing import Storage, coding
from trimtab.planner.precision import PRECISIONS, TYPES, is_quantized
from trimtab.planner.rounding import ACCURACIES
from trimtab.program import Op, Program
from trimtab.target import Target
from trimtab.toml_table import TomlFile

Value = str | int | bool

PREFERENCES = ("balanced", "size", "load")
"""Secondary goals of a plan besides latency: file size and memory traffic, those and the binary
size, or load time.
"""

_STRING_KEYS = ("prefer", "accuracy", "weights_type", "precision")
MAX_THREADS = 64  # of an engine

WEIGHTS = ("file", "load")
"""When weights are packed: before they are written, or when a model is set up."""

WEIGHTS_TYPES = ("f32", "f16", "int8", *coding.FORMS)
"""How weights that the engine packs are stored, the largest first; they compute as f32."""

WEIGHTS_AUTO = "auto"
"""In place of one of them: by operator, as a search within an accuracy budget chose."""

RENAMED_ALGORITHMS = {
    name.replace("z", "s"): name
    for name in ("quantized", "quantized_depthwise", "quantized_winograd")
}
"""Former spellings of algorithms, which plan files may still use: old name -> name."""


_HINT = "docs/planner.md explains the keys of a plan"


class PlanWarning(UserWarning):
    """A plan file uses a former name."""


@dataclass(frozen=True)
class Choice:
    """The overrides of one operator. `algorithm`: its name, or "" for the rule; `values`: kernel
    names and block sizes by plan attribute; `weights`: when they are packed, one of WEIGHTS, or ""
    for the preference.
    """

    algorithm: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    weights: str = ""

    def __post_init__(self) -> None:
        _one_of("weights", self.weights, ("", *WEIGHTS))


@dataclass(frozen=True, repr=False)
class Plan:
    """Overrides of the planner's rules.

    `operators`: by operator key (see `operator_keys`). For all others: `algorithms` that the rule
    may choose from, and what it is to `prefer`. `weights_type`: how weights that the engine packs
    are stored if they are computed with as f32; `stored`: with "auto", those of each operator by
    its name, the first of WEIGHTS_TYPES where it has none. `accuracy`: how exact the algorithms
    that the rule chooses from have to be, one of `rounding.ACCURACIES`. `precision`: the dtype that
    operators compute in where the target supports it (`trimtab.planner.precision`); `precisions`:
    for int8 and mixed, the dtype of each operator by its name before quantization. `threads`:
    number of threads of the program, 0 for the target's.
    """

    algorithms: tuple[str, ...] = field(default_factory=algorithms.names)
    operators: Mapping[str, Choice] = field(default_factory=dict)
    prefer: str = PREFERENCES[0]
    weights_type: str = WEIGHTS_TYPES[0]
    accuracy: str = ACCURACIES[0]
    precision: str = PRECISIONS[0]
    precisions: Mapping[str, str] = field(default_factory=dict)
    threads: int = 0
    stored: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _one_of("prefer", self.prefer, PREFERENCES)
        _one_of("weights_type", self.weights_type, (*WEIGHTS_TYPES, WEIGHTS_AUTO))
        for name, form in self.stored.items():
            _one_of(f"the stored form of {name}", form, WEIGHTS_TYPES)
        if self.stored and self.weights_type != WEIGHTS_AUTO:
            raise PlanError(
                f"[stored] requires the weights_type auto, not {self.weights_type}",
                hint='write weights_type = "auto", or remove [stored]',
            )
        _one_of("accuracy", self.accuracy, ACCURACIES)
        _one_of("precision", self.precision, PRECISIONS)
        for name, dtype in self.precisions.items():
            _one_of(f"the precision of {name}", dtype, TYPES)
        if self.precisions and self.precision not in ("int8", "mixed"):
            raise PlanError(
                f"[precisions] requires precision int8 or mixed, not {self.precision}",
                hint='write precision = "mixed", or remove [precisions]',
            )
        if type(self.threads) is not int or not 0 <= self.threads <= MAX_THREADS:
            raise PlanError(
                f"threads cannot be {self.threads!r}",
                hint=f"use a number from 1 to {MAX_THREADS}",
            )
        used = {*self.algorithms, *(c.algorithm for c in self.operators.values())}
        names = algorithms.names()
        if unknown := sorted(used - {*names, ""}):
            raise PlanError(
                f"unknown algorithm {', '.join(unknown)}", hint=f"use {', '.join(names)}"
            )

    def __repr__(self) -> str:
        default, values = Plan(), []
        for item in fields(self):
            value = getattr(self, item.name)
            if value != getattr(default, item.name):
                by_operator = isinstance(value, Mapping)
                values.append(f"{item.name}={f'<{len(value)}>' if by_operator else repr(value)}")
        return f"Plan({', '.join(values)})"

    @staticmethod
    def read(path: str | Path) -> Plan:
        """Reads a plan file; PlanError names the file and what is wrong in it."""
        try:
            return _read(TomlFile(Path(path), PlanError, hint=_HINT))
        except PlanError as e:
            raise PlanError(e.what, where=e.where or str(path), hint=e.hint or _HINT) from None

    def to_toml(self, title: str = "") -> str:
        """The plan as the text of a TOML file, below `title` as a comment."""
        operators = {}
        for key, choice in self.operators.items():
            row = {"algorithm": choice.algorithm, "weights": choice.weights, **choice.values}
            operators[key] = {name: value for name, value in row.items() if value != ""}
        comment = "".join(f"# {escape.line(line)}\n" for line in title.split("\n") if title)
        by_name = {"precisions": self.precisions, "stored": self.stored}
        return comment + tomli_w.dumps(
            {
                "algorithms": self.algorithms,
                "prefer": self.prefer,
                "weights_type": self.weights_type,
                "accuracy": self.accuracy,
                "precision": self.precision,
                **({"threads": self.threads} if self.threads else {}),
                **{key: dict(values) for key, values in by_name.items() if values},
                "operators": operators,
            }
        )

    @property
    def named_choices(self) -> dict[str, str]:
        """The choices that apply to all operators, by the name of their option."""
        return {
            "precision": self.precision,
            "weights": self.weights_type,
            "prefer": self.prefer,
            "accuracy": self.accuracy,
        }

    @property
    def chooses_weights(self) -> bool:
        """Whether the stored forms of weights have to be searched."""
        return self.weights_type == WEIGHTS_AUTO and not self.stored

    @property
    def numbers(self) -> Plan:
        """A plan with the choices that decide which numbers a network computes with."""
        return Plan(
            precision=self.precision,
            precisions=self.precisions,
            weights_type=self.weights_type,
            stored=self.stored,
        )

    def with_threads(self, target: Target) -> Target:
        """The target with the plan's number of threads."""
        return replace(target, threads=self.threads or target.threads)

    def storage(self, choice: Choice, name: str) -> Storage:
        """How the file stores the weights of the operator of that name with these overrides."""
        at_load = (choice.weights or ("file" if self.prefer == "load" else "load")) == "load"
        is_one = self.weights_type != WEIGHTS_AUTO
        form = self.weights_type if is_one else self.stored.get(name, WEIGHTS_TYPES[0])
        return Storage(at_load, form)

    def choices(self, program: Program) -> list[Choice]:
        """The overrides of each operator of `program`; PlanError if an operator does not exist."""
        unmatched = dict(self.operators)
        choices = [unmatched.pop(key, Choice()) for key in operator_keys(program)]
        if unmatched:
            raise PlanError(
                "the plan has operators that are not in the program: "
                f"{', '.join(map(repr, unmatched))}",
                where=f"program {program.name}",
                hint=f"{PROGRAM} inspect MODEL --plan writes a plan with all names",
            )
        return choices


def _read(file: TomlFile) -> Plan:
    table = dict(file.table)
    file.check_keys(
        table, ("algorithms", *_STRING_KEYS, "threads", "precisions", "stored", "operators")
    )
    operators = {}
    rows = file.value(Mapping[str, Mapping[str, Value]], table.get("operators", {}), "operators")
    for key, row in rows.items():
        values = dict(row)
        algorithm, weights = (
            file.value(str, values.pop(name, ""), f"operators.{key}.{name}")
            for name in ("algorithm", "weights")
        )
        operators[key] = Choice(_current_name(algorithm, file.path), values, weights)
    allowed = table.get("algorithms", [*algorithms.names()])
    return Plan(
        tuple(
            _current_name(name, file.path)
            for name in file.value(tuple[str, ...], allowed, "algorithms")
        ),
        operators,
        precisions=file.value(Mapping[str, str], table.get("precisions", {}), "precisions"),
        stored=file.value(Mapping[str, str], table.get("stored", {}), "stored"),
        threads=file.value(int, table.get("threads", 0), "threads"),
        **{name: file.value(str, table[name], name) for name in _STRING_KEYS if name in table},
    )


def _current_name(algorithm: str, where: Path) -> str:
    """The present name of an algorithm; warns if it is a former one."""
    name = RENAMED_ALGORITHMS.get(algorithm)
    if name is None:
        return algorithm
    message = f"{where}: algorithm {algorithm!r} is now called {name!r}; write that instead"
    warnings.warn(message, PlanWarning, stacklevel=2)
    return name


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        hint = f"use {', '.join(filter(None, choices))}"
        raise PlanError(f"{name} cannot be {value!r}", hint=hint)


def operator_keys(program: Program) -> list[str]:
    """The key of each operator in a plan: its name, or the name of its first output if several
    operators share the name, as when one node became several operators.
    """
    counts = Counter(op.name for op in program.ops)
    return [op.name if counts[op.name] == 1 else op.outputs[0] for op in program.ops]


def plan_of(planned: Program) -> Plan:
    """The decisions in a planned program. Planning its source with them gives the same program."""
    choices = {}
    makers = {op.outputs[0]: op for op in planned.ops if op.schema.prepares}
    for key, op in zip(operator_keys(planned), planned.ops, strict=True):
        if op.schema.prepares:
            continue
        names = [a.name for a in op.schema.attributes if a.plan]
        values = {name: value for name in names if (value := op.attributes[name]) != ""}
        if values:
            algorithm = algorithms.algorithm_of(op)
            choices[key] = Choice(
                algorithm.name if algorithm else "",
                values,
                _weights(op, makers) if algorithm else "",
            )
    results = {planned.vars[name].dtype for op in planned.steps for name in op.outputs}
    has_f16, has_int8 = "f16" in results, is_quantized(planned)
    precisions: dict[str, str] = {}
    if has_f16 and has_int8:
        by_dtype = {"f16": "f16", "i8": "int8", "u8": "int8"}
        precisions = {op.name: by_dtype.get(planned.dtype(op), "f32") for op in planned.steps}
        precision = "mixed"
    else:
        precision = "f16" if has_f16 else "int8" if has_int8 else PRECISIONS[0]
    return Plan(
        operators=choices,
        weights_type=planned.weights,
        precision=precision,
        precisions=precisions,
        threads=planned.threads,
        stored=_stored(planned, makers) if planned.weights == WEIGHTS_AUTO else {},
    )


def _stored(planned: Program, makers: Mapping[str, Op]) -> dict[str, str]:
    """The stored forms of weights that are no floats of their operator's type."""
    readers = {name: op.name for op in (planned.source or planned).ops for name in op.inputs}
    stored = {}
    for op in planned.steps:
        for maker in (makers[name] for name in op.inputs if name in makers):
            name = maker.inputs[0]
            forms = {"f16": "f16", "i8": "int8", "u8": f"bits{maker.attributes.get('bits')}"}
            if form := forms.get(planned.vars[name].dtype):
                stored[readers.get(name.removesuffix(".stored"), op.name)] = form
    return stored


def _weights(op: Op, makers: Mapping[str, Op]) -> str:
    return WEIGHTS[any(name in makers for name in op.inputs)]
