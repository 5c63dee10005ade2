"""What operators and micro-kernels add to a binary: bytes of code, by architecture.

`code_bytes.toml` has them as they are in a binary of everything. `./inv bench.sizes --code
--update` makes it, `--code --check` holds it against what is built.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tomli_w

from trimtab.program import Op

PATH = Path(__file__).with_name("code_bytes.toml")


@dataclass(frozen=True)
class CodeBytes:
    """`common`: of what every binary has; of an operator, of a kernel: by its name."""

    common: int
    operators: Mapping[str, int]
    kernels: Mapping[str, int]

    def of(self, ops: Iterable[Op], more: Iterable[str] = ()) -> int:
        """Bytes of the code that runs operators of a plan, and `more` operators and kernels."""
        ops = [*ops]
        names = {op.type for op in ops} | kernels_of(*ops) | {*more}
        known = {**self.operators, **self.kernels}
        return self.common + sum(known.get(name, 0) for name in names)


def kernels_of(*ops: Op) -> set[str]:
    """The names of the kernels that operators of a plan call."""
    return {
        str(op.attributes[attribute.name])
        for op in ops
        for attribute in op.schema.attributes
        if attribute.type == "kernel" and op.attributes[attribute.name]
    }


@cache
def known(arch: str) -> CodeBytes | None:
    """Those of an architecture; None where nothing was measured."""
    table = tomllib.loads(PATH.read_text(encoding="utf-8"))
    return CodeBytes(**table[arch]) if arch in table else None


def to_toml(found: Mapping[str, CodeBytes]) -> str:
    """The text of the file, of what was measured by architecture."""
    table: dict[str, Any] = {
        arch: {
            "common": code.common,
            "operators": dict(sorted(code.operators.items())),
            "kernels": dict(sorted(code.kernels.items())),
        }
        for arch, code in sorted(found.items())
    }
    return "# Made by ./inv bench.sizes --code --update.\n" + tomli_w.dumps(table)
