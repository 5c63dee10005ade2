"""The parameters to train: constants of the network, chosen by patterns of their names."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from trimtab.errors import UsageError
from trimtab.program import Program

STATISTICS = ("mean", "variance")


@dataclass(frozen=True)
class Multipliers:
    """Factors of a parameter's learning rate and weight decay (Caffe's lr_mult, decay_mult)."""

    rate: float = 1.0
    decay: float = 1.0


Trainable = Sequence[str] | Mapping[str, tuple[float, float]] | None


def choose(program: Program, trainable: Trainable) -> dict[str, Multipliers]:
    """The parameters by their names, in the order of the network.

    `trainable`: patterns that match the names of weights or of the operators that read them, and
    the full names of other constants; or a mapping from these to (rate, decay) multipliers, in
    which the first match counts, and a rate of 0 freezes a parameter. None: all weights, biases and
    slopes. UsageError for a pattern that matches nothing.
    """
    readers = _readers(program)
    if trainable is None:
        return {name: Multipliers() for name, (_, is_weight) in readers.items() if is_weight}
    if isinstance(trainable, str):
        raise UsageError("trainable is a list of patterns", hint=f"[{trainable!r}]")
    patterns = dict(trainable) if isinstance(trainable, Mapping) else dict.fromkeys(trainable)
    chosen, used = {}, set()
    for name, (operators, is_weight) in readers.items():
        names = [name, *operators] if is_weight else []
        fitting = [
            pattern
            for pattern in patterns
            if pattern == name or any(fnmatchcase(one, pattern) for one in names)
        ]
        used.update(fitting)
        if fitting:
            multipliers = Multipliers(*(patterns[fitting[0]] or ()))
            if multipliers.rate != 0:
                chosen[name] = multipliers
    if unused := [pattern for pattern in patterns if pattern not in used]:
        names = [*readers, *(op for operators, _ in readers.values() for op in operators)]
        near = difflib.get_close_matches(unused[0], dict.fromkeys(names)) or list(readers)[:8]
        raise UsageError(f"no parameter fits {unused[0]!r}", hint=f"there are {', '.join(near)}")
    if not chosen:
        raise UsageError("no parameter is trainable", hint="name one, or pass trainable=None")
    return chosen


def _readers(program: Program) -> dict[str, tuple[list[str], bool]]:
    """The operators that read each float32 constant, and whether it is a weight: an operand that
    the operator needs to be constant, and no statistic.
    """
    readers: dict[str, tuple[list[str], bool]] = {}
    for op in program.ops:
        ports = op.schema.inputs
        for i, name in enumerate(op.inputs):
            var = program.vars.get(name)
            if var is None or var.data is None or var.dtype != "f32":
                continue
            port = ports[min(i, len(ports) - 1)]
            operators, is_weight = readers.get(name, ([], False))
            is_weight |= port.constant and port.name not in STATISTICS
            readers[name] = [*operators, op.name], is_weight
    return readers
