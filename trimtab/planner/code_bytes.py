"""What operators and micro-kernels add to a binary: bytes of code, by architecture.

`code_bytes.toml` has them as they are in a binary of everything in float32, where an operator has
one class. `./inv bench.sizes --code --update` makes it, `--code --check` holds it against what is
built. A kernel of another type is taken to be as large as the largest of its family.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import tomli_w

from trimtab import kernels
from trimtab.profile import Profile, find_profile
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
        return self.common + sum(map(self._bytes, names))

    def _bytes(self, name: str) -> int:
        known = {**self.operators, **self.kernels}
        if name in known or name not in kernels.inventory():
            return known.get(name, 0)
        family = kernels.kernel(name).family
        return max(
            (n for k, n in self.kernels.items() if k.startswith(f"{family}_f32_")), default=0
        )


def kernels_of(*ops: Op) -> set[str]:
    """The names of the kernels that operators of a plan call."""
    return {
        str(op.attributes[attribute.name])
        for op in ops
        for attribute in op.schema.attributes
        if attribute.type == "kernel" and op.attributes[attribute.name]
    }


def weighed_profile() -> Profile:
    """What is weighed: everything but what computes in other types than float32."""
    full = find_profile("full")
    return replace(full, dtypes=tuple(dtype for dtype in full.dtypes if dtype != "f16"))


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
