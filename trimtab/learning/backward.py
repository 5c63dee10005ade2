"""The backward pass: gradient rules, applied from a loss to parameters."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

import numpy as np

from trimtab.errors import ProgramError
from trimtab.gradients import DifferentiatedOp, OpBuilder, Rule, rules
from trimtab.program import Block, Op

_FUSED = {"activation": "", "clamp_min": -math.inf, "clamp_max": math.inf}


class Differentiable:
    """A block whose operators between parameters and results have gradients.

    Operators whose parameters the engine needs as constants are replaced by others (`lowered`);
    everything that depends on no parameter stays as it is. `active` are the tensors that depend on
    parameters (Caffe's propagate_down), but not behind the operators `blocked`, by their names;
    `renamed` has the new name of a replaced result.
    """

    def __init__(
        self,
        block: Block,
        parameters: Iterable[str],
        results: Iterable[str],
        blocked: Collection[str] = (),
    ) -> None:
        self.block, self._blocked = block, blocked
        self.active = set(parameters)
        self.renamed: dict[str, str] = {}
        block.ops = _ancestors(block.ops, results)
        self.extend(0)

    def name(self, tensor: str) -> str:
        """The present name of a tensor of the original block."""
        return self.renamed.get(tensor, tensor)

    def _place(self, op: Op) -> None:
        """Appends an operator, or those that replace it."""
        op.inputs = [self.name(name) for name in op.inputs]
        read = [i for i, name in enumerate(op.inputs) if name in self.active]
        floats = [name for name in op.outputs if self.block.vars[name].dtype == "f32"]
        if not read or not floats or op.name in self._blocked:
            self.block.ops.append(op)
            return
        rule = _rule(op)
        ports = op.schema.inputs
        needs_constant = any(ports[min(i, len(ports) - 1)].constant for i in read)
        if not needs_constant and hasattr(rule, "gradient"):
            self.block.ops.append(op)
            self.active.update(floats)
            return
        if not hasattr(rule, "lowered"):
            raise _no_gradient(op, f"the parameters of operator {op.type} cannot be trained")
        placed, self.block.ops = self.block.ops, []
        y = rule.lowered(DifferentiatedOp(self.block, op))
        ops, self.block.ops = self.block.ops, placed
        for new in ops:
            self._place(new)
        self.renamed[op.outputs[0]] = self.name(y)

    def extend(self, first: int) -> None:
        """Makes the operators from position `first` on differentiable, too."""
        ops, self.block.ops = self.block.ops[first:], self.block.ops[:first]
        for op in ops:
            self._place(op)

    def add_gradients(self, loss: str, parameters: Iterable[str]) -> dict[str, str]:
        """Appends the backward pass of a loss, [1]; returns the gradient of each parameter.

        ProgramError if the loss does not depend on a parameter.
        """
        one = self.block.add_constant(np.ones(1, np.float32), "one")
        terms: dict[str, list[str]] = {loss: [one]}
        for op in reversed(list(self.block.ops)):
            if not any(name in terms for name in op.outputs):
                continue
            differentiated = DifferentiatedOp(
                self.block, op, tuple(self._sum(terms, name) for name in op.outputs)
            )
            rule = _rule(op)
            for i, name in enumerate(op.inputs):
                if name in self.active:
                    terms.setdefault(name, []).append(rule.gradient(differentiated, i))
        gradients = {name: self._sum(terms, name) for name in parameters}
        if missing := [name for name, gradient in gradients.items() if not gradient]:
            raise ProgramError(
                f"the loss does not depend on parameter {missing[0]}",
                where="trimtab.training",
                hint="leave it out of `trainable`, or add the loss of the output that it changes",
            )
        return gradients

    def _sum(self, terms: dict[str, list[str]], name: str) -> str:
        """The sum of the gradients of a tensor from all of its readers; "" if there are none."""
        gradients = terms.get(name, [])
        builder = OpBuilder(self.block, f"{name}.gradient")
        while len(gradients) > 1:
            first, second, *rest = gradients
            gradients = [builder.add("add", first, second), *rest]
        terms.update({name: gradients} if gradients else {})
        return gradients[0] if gradients else ""


def reaching(block: Block, results: Iterable[str], blocked: Collection[str]) -> set[str]:
    """The tensors that change results through other operators than the blocked ones."""
    tensors = set(results)
    for op in reversed(block.ops):
        if op.name not in blocked and not tensors.isdisjoint(op.outputs):
            tensors.update(op.inputs)
    return tensors


def _ancestors(ops: list[Op], results: Iterable[str]) -> list[Op]:
    """The operators that compute `results`, in order."""
    needed, ancestors = set(results), []
    for op in reversed(ops):
        if not needed.isdisjoint(op.outputs):
            needed.update(op.inputs)
            ancestors.append(op)
    return ancestors[::-1]


def _rule(op: Op) -> Rule:
    """The gradient rule of an operator; ProgramError if there is none."""
    if op.type not in rules():
        raise _no_gradient(op, f"operator {op.type} has no gradient")
    fused = {
        name for name, neutral in _FUSED.items() if op.attributes.get(name, neutral) != neutral
    }
    if fused or (op.schema.fuses_residual and op.operand("residual")):
        raise _no_gradient(op, f"operator {op.type} has no gradient with a fused epilogue")
    return rules()[op.type]


def _no_gradient(op: Op, what: str) -> ProgramError:
    return ProgramError(
        what,
        where=f"operator {op.name}",
        hint="freeze the layers before it: name only parameters behind it in `trainable`; or add "
        f"the rule trimtab/gradients/{op.type}.py",
    )
