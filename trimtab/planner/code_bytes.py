"""Code sizes of operators and micro-kernels, in bytes by architecture.

`code_bytes.toml` holds the sizes in a binary of everything in float32, where an operator has one
class. `./inv bench.sizes --code --update` writes it, and `--code --check` compares it with a build.
A kernel of another dtype is assumed to be as large as the largest float32 kernel of its family.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import tomli_w

from trimtab import kernels
from trimtab.errors import PlanError
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
        if name in sizes or name not in kernels.inventory():
            return sizes.get(name, 0)
        family = kernels.kernel(name).family
        return max(
            (n for k, n in self.kernels.items() if k.startswith(f"{family}_f32_")), default=0
        )


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
