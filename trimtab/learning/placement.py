"""The place of updates in a step: as early as possible, so that few gradients live together, and
behind all readers of the values that they overwrite.
"""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.program import Block


def update_early(block: Block, first: int, next_values: Mapping[str, str]) -> None:
    """Moves each operator from position `first` on to directly behind the operators that it depends
    on. `next_values`: the tensors that take the place of others when they are computed.
    """
    replaced = {new: old for old, new in next_values.items()}
    owners: dict[str, str] = {}  # of views
    places: dict[str, int] = {}  # of the operator that computes a tensor, or a view of it
    last_readers: dict[str, int] = {}
    order: list[tuple[int, int]] = []
    for i, op in enumerate(block.ops):
        inputs = [owners.get(name, name) for name in op.inputs if name]
        place = i
        if i >= first:
            place = max((places.get(name, 0) for name in op.inputs), default=0)
            for new in op.outputs:
                place = max(place, last_readers.get(replaced.get(new, ""), 0))
        for name in inputs:
            last_readers[name] = max(place, last_readers.get(name, 0))
        if op.schema.view:
            owners[op.outputs[0]] = inputs[0]
        places.update(dict.fromkeys(op.outputs, place))
        order.append((place, i))
    block.ops = [block.ops[i] for _, i in sorted(order)]
