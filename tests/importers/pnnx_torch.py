"""Recorded results of PyTorch for PNNX's operators.

The operators have the names and arguments of PyTorch's classes and functions.
`python -m tests.importers.pnnx_torch` writes the results to pnnx_results.npz, because PyTorch is
too large to be a dependency.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.importers.pnnx_cases import Case, cases
from tests.ops.cases.case import Array

RESULTS = Path(__file__).with_name("pnnx_results.npz")


def compute(case: Case) -> list[Array]:
    """The outputs of PyTorch."""
    import torch

    space, _, name = case.type.partition(".")
    inputs = [torch.from_numpy(x) for x in case.inputs]
    params = {k: v for k, v in case.params.items() if v is not None}
    if space == "nn":
        module = getattr(torch.nn, name)(**params).eval()
        state = {k: torch.from_numpy(v) for k, v in case.weights.items()}
        module.load_state_dict(state, strict=False)
        if name == "MultiheadAttention":
            inputs = inputs * 3 if len(inputs) == 1 else inputs
        result = module(*inputs)
        result = result[0] if name == "MultiheadAttention" else result
    else:
        result = _function(torch, space, name, case, inputs, params)
    results = list(result) if isinstance(result, tuple | list) else [result]
    return [r.detach().numpy() for r in results]


def _function(
    torch: Any, space: str, name: str, case: Case, inputs: list[Any], params: dict[str, Any]
) -> Any:
    constants = [torch.from_numpy(v) for v in case.constants.values()]
    if name in ("cat", "stack"):
        return getattr(torch, name)(inputs, **params)
    if space == "Tensor":
        arguments = list(params.values())
        return getattr(inputs[0], name)(*inputs[1:], *arguments)
    if name == "tensor_split":
        return torch.tensor_split(inputs[0], *params.values())
    if name == "channel_shuffle":
        return torch.nn.functional.channel_shuffle(inputs[0], **params)
    source = torch.nn.functional if space == "F" else torch
    if name == "batch_norm":
        return source.batch_norm(inputs[0], *constants, **params)
    operands = [*inputs, *constants]
    if name == "local_response_norm" or name.startswith("adaptive_") or len(operands) == 1:
        return getattr(source, name)(operands[0], **params)
    named = dict(zip(case.keys, operands, strict=True))
    return getattr(source, name)(operands[0], **dict(list(named.items())[1:]), **params)


def main() -> None:
    """Records the outputs of PyTorch."""
    arrays = {}
    for case in cases():
        for i, value in enumerate(compute(case)):
            arrays[f"{case.name}:{i}"] = value
    np.savez_compressed(RESULTS, allow_pickle=False, **arrays)


if __name__ == "__main__":
    main()
