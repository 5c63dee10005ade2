"""Recorded gradients of PyTorch for the cases; PyTorch is too large to be a dependency.

`python -m tests.gradients.torch_record` writes torch.npz beside this file, in an environment with
PyTorch (2.14 was used). The operands are the same in every run, so the record has gradients only.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from tests.gradients.case import Array, Case, factors
from tests.gradients.cases import cases
from tests.gradients.composed_cases import composed_cases

RECORD = Path(__file__).with_name("torch.npz")


def recorded_gradients() -> dict[str, list[Array]]:
    """The gradients of PyTorch by case."""
    result: dict[str, list[Array]] = {}
    with np.load(RECORD) as file:
        for key in sorted(file.files):
            result.setdefault(key.rpartition(":")[0], []).append(file[key])
    return result


def _image_padding(pads: tuple[int, ...]) -> tuple[int, ...]:
    top, left, bottom, right = pads
    return left, right, top, bottom


# Operators without attributes, and PyTorch's functions.
_SAME = {name: name for name in ("relu", "sigmoid", "tanh", "sin", "cos", "exp", "log", "sqrt")} | {
    **{name: name for name in ("neg", "abs", "erf", "add", "sub", "mul", "div", "pow")},
    "max": "maximum",
    "min": "minimum",
}


class _Forward:
    """The operators in terms of PyTorch's functions; those that it lacks are not recorded."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.f = torch, torch.nn.functional

    def __call__(self, case: Case, *x: Any) -> Any:
        if method := getattr(self, case.op, None):
            return method(*x, **case.attributes)
        name = _SAME.get(case.op)
        return getattr(self.torch, name)(*x) if name else None

    def clip(self, x: Any, alpha: float, beta: float) -> Any:
        return self.torch.clamp(x, alpha, beta)

    def leaky_relu(self, x: Any, alpha: float) -> Any:
        return self.f.leaky_relu(x, alpha)

    def swish(self, x: Any, alpha: float) -> Any:
        return x * self.torch.sigmoid(alpha * x)

    def gelu(self, x: Any, alpha: float = 0) -> Any:
        return self.f.gelu(x, approximate="tanh" if alpha else "none")

    def hard_swish(self, x: Any) -> Any:
        return self.f.hardswish(x)

    def celu(self, x: Any, alpha: float) -> Any:
        return self.f.celu(x, alpha)

    def hard_shrink(self, x: Any, alpha: float) -> Any:
        return self.f.hardshrink(x, alpha)

    def elu(self, x: Any, alpha: float) -> Any:
        return self.f.elu(x, alpha)

    def transpose(self, x: Any, permutation: Any) -> Any:
        return x.permute(permutation)

    def concat(self, *x: Any, axis: int) -> Any:
        return self.torch.cat(x, axis)

    def gather(self, x: Any, indices: Any, axis: int) -> Any:
        axis %= x.ndim
        rows = self.torch.index_select(x, axis, indices.flatten() % x.shape[axis])
        return rows.reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])

    def reduce_sum(self, x: Any, axes: Any, keep_dims: bool) -> Any:
        return x.sum(axes, keepdim=keep_dims)

    def reduce_mean(self, x: Any, axes: Any, keep_dims: bool) -> Any:
        return x.mean(axes, keepdim=keep_dims)

    def reduce_max(self, x: Any, axes: Any, keep_dims: bool) -> Any:
        return x.amax(axes, keepdim=keep_dims)

    def reduce_min(self, x: Any, axes: Any, keep_dims: bool) -> Any:
        return x.amin(axes, keepdim=keep_dims)

    def resize(
        self, x: Any, sizes: Any, mode: str, coordinate_mode: str = "", nearest_mode: str = ""
    ) -> Any:
        if mode == "nearest":
            return self.f.interpolate(x, sizes, mode="nearest")
        corners = coordinate_mode == "align_corners"
        return self.f.interpolate(x, sizes, mode="bilinear", align_corners=corners)

    def lrn(self, x: Any, size: int, alpha: float, beta: float, bias: float) -> Any:
        if size % 2 == 0:
            return None  # its windows lie elsewhere
        return self.f.local_response_norm(x, size, alpha, beta, bias)

    def global_average_pool(self, x: Any) -> Any:
        return x.mean((2, 3), keepdim=True)

    def global_max_pool(self, x: Any) -> Any:
        return x.amax((2, 3), keepdim=True)

    def softplus(self, x: Any) -> Any:
        return self.f.softplus(x)

    def softsign(self, x: Any) -> Any:
        return self.f.softsign(x)

    def mish(self, x: Any) -> Any:
        return self.f.mish(x)

    def prelu(self, x: Any, slope: Any) -> Any:
        return self.f.prelu(x, slope)

    def gemm(self, x: Any, w: Any, bias: Any = None) -> Any:
        return self.f.linear(x, w, bias)

    def mat_mul(self, a: Any, b: Any, transpose_b: bool = False) -> Any:
        return self.torch.matmul(a, b.transpose(-1, -2) if transpose_b else b)

    def conv(
        self,
        x: Any,
        w: Any,
        bias: Any,
        group: int = 1,
        strides: Any = 1,
        dilations: Any = 1,
        pads: Any = (0, 0, 0, 0),
    ) -> Any:
        x = self.f.pad(x, _image_padding(pads))
        return self.f.conv2d(x, w, bias, strides, 0, dilations, group)

    def conv_transpose(
        self,
        x: Any,
        w: Any,
        bias: Any,
        group: int = 1,
        strides: Any = 1,
        dilations: Any = 1,
        pads: Any = (0, 0, 0, 0),
        output_padding: Any = 0,
    ) -> Any:
        y = self.f.conv_transpose2d(x, w, bias, strides, 0, output_padding, group, dilations)
        return self.f.pad(y, _image_padding(tuple(-pad for pad in pads)))

    def max_pool(
        self,
        x: Any,
        kernel_shape: Any,
        pads: Any,
        strides: Any = 1,
        dilations: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:
        x = self.f.pad(x, _image_padding(pads), value=-np.inf)
        return self.f.max_pool2d(x, kernel_shape, strides, 0, dilations, ceil_mode)

    def average_pool(
        self,
        x: Any,
        kernel_shape: Any,
        pads: Any,
        strides: Any = 1,
        dilations: Any = 1,
        ceil_mode: bool = False,
        count_include_pad: bool = False,
    ) -> Any:
        if dilations != 1 or (any(pads) and not count_include_pad):
            return None
        x = self.f.pad(x, _image_padding(pads))
        return self.f.avg_pool2d(x, kernel_shape, strides, 0, ceil_mode)

    def softmax(self, x: Any, axis: int) -> Any:
        return self.torch.softmax(x, axis)

    def log_softmax(self, x: Any, axis: int) -> Any:
        return self.torch.log_softmax(x, axis)

    def batch_normalization(
        self, x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float
    ) -> Any:
        return self.f.batch_norm(x, mean, variance, scale, bias, False, 0.0, epsilon)

    def layer_normalization(self, x: Any, scale: Any, bias: Any, axis: int, epsilon: float) -> Any:
        return self.f.layer_norm(x, x.shape[axis:], scale, bias, epsilon)

    def instance_normalization(self, x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
        return self.f.instance_norm(x, None, None, scale, bias, True, 0.0, epsilon)

    def LpNormalization(self, x: Any, p: int, axis: int) -> Any:  # noqa: N802
        return self.f.normalize(x, p, axis)

    def RMSNormalization(self, x: Any, scale: Any, epsilon: float) -> Any:  # noqa: N802
        return self.f.rms_norm(x, x.shape[-1:], scale, epsilon)

    def GroupNormalization(  # noqa: N802
        self, x: Any, scale: Any, bias: Any, num_groups: int, epsilon: float
    ) -> Any:
        return self.f.group_norm(x, num_groups, scale, bias, epsilon)

    def Swish(self, x: Any) -> Any:  # noqa: N802
        return self.f.silu(x)

    Celu = celu

    def ReduceLogSumExp(self, x: Any, axes: Any) -> Any:  # noqa: N802
        return self.torch.logsumexp(x, axes, keepdim=True)


def _record() -> None:
    torch = importlib.import_module("torch")
    forward, recorded = _Forward(torch), {}
    for case in (*cases(), *composed_cases()):
        trained = len(case.operands) - case.fixed
        operands = [torch.tensor(x, requires_grad=i < trained) for i, x in enumerate(case.operands)]
        y = forward(case, *operands)
        if y is None:
            continue
        (y * torch.tensor(factors(case)[0])).sum().backward()
        for i, x in enumerate(operands[:trained]):
            recorded[f"{case.id}:{i}"] = x.grad.numpy()
    np.savez_compressed(RECORD, **recorded)
    print(f"{len(recorded)} gradients")


if __name__ == "__main__":
    _record()
