"""Code sizes of operators and micro-kernels, in bytes by architecture.

`code_bytes.toml` holds the sizes in a binary of everything in float32, where an operator has one
class. `./inv bench.sizes --code --update` writes it, and `--code --check` compares it with a build.
A kernel of another dtype is assumed to be as large as the largest float32 kernel of its family.
An operator or a kernel that was not measured has the median size of its kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from trimtab import kernels, schema
from trimtab.errors import PlanError
from trimtab.kernels.naming import Kernel
from trimtab.profile import Profile, find_profile
from trimtab.program import Op
from trimtab.toml_table import TomlFile

PATH = Path(__file__).with_name("code_bytes.toml")


@dataclass(frozen=True)
class CodeSizes:
    """`common`: code of every binary; `operators` and `kernels`: code of each, by name."""

    common: int
    operators: Mapping[str, int]
    kernels: Mapping[str, int]

    def total(self, ops: Iterable[Op], more: Iterable[str] = ()) -> int:
        """Code size of a binary that runs the operators of a plan, and `more` operators and kernels
        by name.
        """
        ops = [*ops]
        names = {op.type for op in ops} | called_kernels(*ops) | {*more}
        return self.common + sum(map(self._bytes, names))

    def _bytes(self, name: str) -> int:
        sizes = {**self.operators, **self.kernels}
        if name in sizes:
            return sizes[name]
        if name in schema.operators():
            return self._typical_operator(schema.operator(name))
        return self._typical_kernel(kernels.kernel(name)) if name in kernels.inventory() else 0

    def _typical_operator(self, op: schema.Operator) -> int:
        """The median size of the measured operators of the same kind."""
        kinds = {other.name: other.kind for other in schema.operators().values()}
        peers = [size for name, size in self.operators.items() if kinds.get(name) == op.kind]
        return round(float(np.median(peers))) if op.kind and peers else 0

    def _typical_kernel(self, kernel: Kernel) -> int:
        """The largest float32 kernel of the family; if none was measured, the median size of the
        kernels of the same instruction set with the same arguments.
        """
        family = [n for k, n in self.kernels.items() if k.startswith(f"{kernel.family}_f32_")]
        if family or kernel.dtype not in ("f32", "f16"):
            return max(family, default=0)
        inventory = kernels.inventory()
        measured = {
            inventory[name]: size for name, size in self.kernels.items() if name in inventory
        }
        peers = [
            size
            for other, size in measured.items()
            if (other.args_type, other.isa) == (kernel.args_type, kernel.isa)
        ]
        return round(float(np.median(peers))) if peers else 0


def called_kernels(*ops: Op) -> set[str]:
    """The names of the kernels that operators of a plan call."""
    return {
        str(op.attributes[attribute.name])
        for op in ops
        for attribute in op.schema.attributes
        if attribute.type == "kernel" and op.attributes[attribute.name]
    }


def measured_profile() -> Profile:
    """The profile whose binary is measured: everything except the f16 kernels."""
    full = find_profile("full")
    return replace(full, dtypes=tuple(dtype for dtype in full.dtypes if dtype != "f16"))


@cache
def code_sizes(arch: str) -> CodeSizes | None:
    """The code sizes of an architecture, or None if it was not measured."""
    file = TomlFile(PATH, PlanError)
    return file.record(CodeSizes, file.table[arch], key=arch) if arch in file.table else None


def to_toml(sizes: Mapping[str, CodeSizes]) -> str:
    """The text of the file for measurements by architecture."""
    table: dict[str, Any] = {
        arch: {
            "common": code.common,
            "operators": dict(sorted(code.operators.items())),
            "kernels": dict(sorted(code.kernels.items())),
        }
        for arch, code in sorted(sizes.items())
    }
    return "# Made by ./inv bench.sizes --code --update.\n" + tomli_w.dumps(table)
