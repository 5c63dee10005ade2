"""Lower bounds of a training step: its multiply-adds, and its memory."""

from __future__ import annotations

from collections.abc import Iterator

import trimtab
from trimtab.learning.training_program import TrainingProgram
from trimtab.program import Op
from trimtab.program.inspection import macs
from trimtab.program.memory import activation_bytes


def extra_products(training: TrainingProgram) -> float:
    """Multiply-adds of a step, relative to those of an inference: each trained product is repeated
    for the gradient of its weights, and again for that of its input if something before it learns.
    """
    network, active = training.network, set(training.parameters)
    inference = step = 0
    for op in network.ops:
        count = macs(network, op)
        read = [i for i, name in enumerate(op.inputs) if name in active]
        inference += count
        step += count + count * len({*read} & {0, 1})
        if read:
            active.update(op.outputs)
    return step / inference


def memory_bytes(training: TrainingProgram) -> int:
    """A lower bound of the memory of a step: the batch, weights, parameters and states of the
    optimizer once, and the largest sum of the activations that live at the same time. In the
    forward pass these are the ones of inference; in the backward pass the activations that earlier
    layers still need, the gradients of the results and operands of one layer, and that of its
    weights.
    """
    network, values = training.network, sum(int(v.nbytes) for v in training.initial.values())
    frozen = {
        name: network.vars[name].bytes
        for op in network.ops
        if macs(network, op)  # normalizations become a part of these
        for name in op.inputs
        if name not in training.initial and network.vars[name].data is not None
    }
    batch = sum(network.vars[name].bytes for name in network.inputs)
    activations = max(activation_bytes(trimtab.optimize(network)), *_backward(training))
    return batch + sum(frozen.values()) + values + activations


def _backward(training: TrainingProgram) -> Iterator[int]:
    """The bytes that live while the gradients of each operator are computed."""
    network, active = training.network, set(training.parameters)
    owner: dict[str, str] = {}  # reshaped tensors have the memory of others
    bytes_by_owner: dict[str, int] = {}
    for op in network.ops:
        learns = [name for name in op.inputs if name in active]
        for name in op.outputs:
            owner[name] = owner.get(op.inputs[0], op.inputs[0]) if op.type == "reshape" else name
        if not learns:
            continue
        active.update(op.outputs)
        for name in _needed(op, set(training.parameters), active):
            if name not in network.inputs:
                bytes_by_owner[owner.get(name, name)] = network.vars[name].bytes
        gradients = [network.vars[name].bytes for name in op.outputs]
        if macs(network, op) or op.type.endswith("_pool"):
            gradients += [network.vars[name].bytes for name in op.inputs[:1] if name in active]
        weights = [network.vars[n].bytes for n in learns if n in training.parameters]
        yield sum(bytes_by_owner.values()) + sum(gradients) + max(weights, default=0)


def _needed(op: Op, parameters: set[str], active: set[str]) -> list[str]:
    """The activations that the gradients of an operator are computed from."""
    if len(op.inputs) > 1 and op.inputs[1] in parameters:
        return [op.inputs[0]]
    if op.inputs[0] not in active or op.type == "max_pool":
        return [op.inputs[0]] if op.inputs[0] in active else []
    return list(op.outputs) if op.schema.kind == "unary" else []
