"""Identity of layers and of the code that computes them: the keys of timings.

A layer is one operator, or several that are computed together, with its shapes, and with the
layouts and types of its neighbors. The same layer of another network has the same key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from trimtab import kernels, paths, schema, strict_json
from trimtab.planner import algorithms
from trimtab.planner.alternatives import DecidedPlan
from trimtab.planner.code_bytes import called_kernels
from trimtab.planner.concat_elision import pixel_stride
from trimtab.program import Op, Program

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Named:
    """A digest of 16 hexadecimal digits, and what it stands for in words."""

    digest: str
    text: str


def digest(value: object) -> str:
    """16 hexadecimal digits over a JSON value."""
    text = strict_json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Layers:
    """The layers of one plan."""

    def __init__(self, plan: DecidedPlan) -> None:
        self._program, self._planned = plan.program, plan.planned
        self._producers = {name: op for op in plan.program.ops for name in op.outputs}
        self._readers: dict[str, list[str]] = {}
        for op in plan.program.ops:
            for name in op.inputs:
                self._readers.setdefault(name, []).append(op.type)

    def layer(self, region: Iterable[str]) -> Named:
        """The layer that consists of the operators with these first outputs."""
        ops = [op for op in self._program.ops if op.outputs[0] in set(region)]
        inside = {name for op in ops for name in op.outputs}
        facts = [self._facts(op, inside) for op in ops]
        return Named(digest(facts), ", ".join(map(self._words, ops)))

    def _facts(self, op: Op, inside: set[str]) -> dict[str, object]:
        attributes = {a.name: op.attributes[a.name] for a in op.schema.attributes if not a.plan}
        before = [
            self._producers[name].type if name in self._producers else ""
            for name in op.inputs
            if name not in inside
        ]
        after = [sorted(self._readers.get(name, [])) for name in op.outputs]
        return {
            "type": op.type,
            "attributes": {name: repr(value) for name, value in sorted(attributes.items())},
            "inputs": [self._tensor(name) for name in op.inputs],
            "outputs": [self._tensor(name) for name in op.outputs],
            "before": before,
            "after": after,
        }

    def _tensor(self, name: str) -> list[object]:
        if not name:
            return []
        var = self._program.vars[name]
        planned = self._planned.vars.get(name)
        is_image = len(var.shape) == 4 and planned is not None
        stride = pixel_stride(self._planned, name) if is_image else 0
        return [[*var.shape], var.dtype, var.layout, var.data is not None, stride]

    def _words(self, op: Op) -> str:
        shapes = [
            "x".join(map(str, self._program.vars[name].shape))
            for name in (op.inputs[0] if op.inputs else "", op.outputs[0])
            if name
        ]
        window = ""
        if op.schema.macs and len(op.inputs) > 1 and op.inputs[1]:
            window = "x".join(map(str, self._program.vars[op.inputs[1]].shape[2:]))
        strides = op.attributes.get("strides") or ()
        step = f" s{max(strides)}" if strides and max(strides) > 1 else ""
        group = " dw" if op.attributes.get("group", 1) > 1 else ""
        return f"{op.type}{group} {window}{step} {' -> '.join(shapes)}".replace("  ", " ")


def code_of(planned: Program, region: Iterable[str], compiler: str = "") -> Named:
    """The decisions of a plan for the operators with these first outputs: its digest covers every
    plan attribute, the sources of operators and kernels, and the `compiler` with its flags.
    """
    outputs, prepared = set(region), {op.outputs[0] for op in planned.ops if op.schema.prepares}
    ops = [op for op in planned.steps if op.outputs[0] in outputs]
    facts = [
        {
            "type": op.type,
            "plan": {a.name: op.attributes[a.name] for a in op.schema.attributes if a.plan},
            "packed at load": sum(name in prepared for name in op.inputs),
            "source": sorted(source_digest(name) for name in {op.type, *called_kernels(op)}),
        }
        for op in ops
    ]
    return Named(digest([compiler, *facts]), "; ".join(map(_decision, ops)))


def _decision(op: Op) -> str:
    values = {a.name: op.attributes[a.name] for a in op.schema.attributes if a.plan}
    sizes = [f"{name} {value}" for name, value in values.items() if not name.endswith("kernel")]
    kernel, algorithm = values.get("kernel"), algorithms.algorithm_of(op)
    name = algorithm.name if algorithm and algorithm.name != algorithms.DIRECT else op.type
    return ", ".join([name, *([str(kernel)] if kernel else []), *sizes])


@cache
def source_digest(name: str) -> str:
    """A digest over the sources of an operator or a kernel, with everything that they include."""
    root = paths.root()
    if name in kernels.inventory():
        kernel = kernels.inventory()[name]
        own = kernel.source if kernel.source.is_absolute() else root / kernel.source
        template = kernel.template
        files = [own, *([root / template.vectors] if template else [])]
        function = template.function if template else ""
        more = repr((kernel.args, kernels.isas()[kernel.isa].flags, function))
    else:
        path = schema.operator(name).path  # none for a Python function
        is_written = bool(path.name) and path.with_suffix(".cpp").is_file()
        files, more = [path.with_suffix(".cpp") if is_written else path], name
    texts = dict[Path, str]()
    for file in files:
        _read_with_includes(file, texts)
    return digest([more, *sorted(texts.values())])


def _read_with_includes(file: Path, texts: dict[Path, str]) -> None:
    if file in texts or not file.is_file():
        return
    texts[file] = file.read_text(encoding="utf-8")
    for include in _INCLUDE.findall(texts[file]):
        for base in _bases(file):
            _read_with_includes((base / include).resolve(), texts)


def _bases(file: Path) -> Iterator[Path]:
    yield paths.root()
    yield file.parent
    yield paths.root() / "kernels" / "generic"
