"""Operators in Python: a network runs on this machine before the C++ of its operators exists.

    @trimtab.operator("twist")
    def twist(x, factor):
        return x * factor

The operator has a schema with `run_time = true`, `ops/twist.toml` of a plug-in. The function gets
the inputs as read-only arrays, which it may keep (None: absent), and the attributes as keyword
arguments, and returns an array or a tuple of arrays. It is in a module of the plug-in's folder
`functions/`, which is imported when the engine is first used, or in any code that runs before.
docs/run-time-plugins.md has the details.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trimtab import schema
from trimtab.engine import EngineError, extension
from trimtab.errors import PluginError

Function = TypeVar("Function", bound=Callable[..., Any])

_NAMES = {number: name for name, number in schema.DTYPES.items()}
_NUMPY = {"f32": "f4", "f16": "f2", "i8": "i1", "u8": "u1", "i32": "i4", "i64": "i8", "bool": "?"}


def operator(name: str, shape: Callable[..., Any] | None = None) -> Callable[[Function], Function]:
    """Decorator that registers a function as the operator `name`, for the life of this process.

    `shape`: a function of the input shapes and the attributes that returns the shape of the result,
    or a list of shapes; the dtype is then that of the first input. Without it, the function is
    called once with zeros. PluginError if the operator is compiled in or already has a provider.
    """

    def register(function: Function) -> Function:
        code = getattr(function, "__code__", None)
        place = f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)
        _register(_PythonOperator(schema.operator(name), function, shape, place))
        return function

    return register


class _PythonOperator:
    """The engine's callbacks. Exceptions of the function become a PluginError with their line."""

    def __init__(
        self,
        op: schema.Operator,
        function: Callable[..., Any],
        shape: Callable[..., Any] | None,
        place: str,
    ) -> None:
        self.op, self.place = op, place
        self._function, self._shape = function, shape
        self._bools = [a.name for a in op.attributes if a.type == "bool"]

    def shapes(
        self,
        inputs: Sequence[tuple[tuple[int, ...], int] | None],
        attributes: dict[str, Any],
        count: int,
    ) -> list[tuple[tuple[int, ...], int]]:
        """Infers (shape, dtype) of every output from those of the inputs."""
        if self._shape is not None:
            dims = [None if i is None else i[0] for i in inputs]
            result_shapes = self._call(self._shape, dims, attributes)
            shapes = result_shapes if isinstance(result_shapes, list) else [result_shapes]
            dtype = next((i[1] for i in inputs if i), schema.DTYPES["f32"])
            result = [(tuple(map(int, one)), dtype) for one in shapes]
        else:
            zeros = [None if i is None else np.zeros(i[0], _NUMPY[_NAMES[i[1]]]) for i in inputs]
            with np.errstate(all="ignore"):
                arrays = self._arrays(zeros, attributes)
            result = [(array.shape, self._dtype(array)) for array in arrays]
        self._check_count(len(result), count)
        return result

    def run(
        self,
        inputs: Sequence[NDArray[Any] | None],
        attributes: dict[str, Any],
        outputs: Sequence[tuple[tuple[int, ...], int]],
    ) -> list[NDArray[Any]]:
        """Computes the results from `inputs`; `outputs` has their inferred (shape, dtype)."""
        results = self._arrays(inputs, attributes)
        self._check_count(len(results), len(outputs))
        for result, (shape, dtype) in zip(results, outputs, strict=True):
            if result.shape != shape or self._dtype(result) != dtype:
                raise self._error(
                    f"returns {result.dtype}{list(result.shape)}, but its inferred result is "
                    f"{np.dtype(_NUMPY[_NAMES[dtype]])}{list(shape)}"
                )
        return results

    def _arrays(
        self, inputs: Sequence[NDArray[Any] | None], attributes: dict[str, Any]
    ) -> list[NDArray[Any]]:
        result = self._call(self._function, inputs, attributes)
        results = result if isinstance(result, tuple) else (result,)
        arrays = [np.asarray(one) for one in results]
        return [a.astype(np.float32) if a.dtype == np.float64 else a for a in arrays]

    def _call(
        self, function: Callable[..., Any], inputs: Sequence[Any], attributes: dict[str, Any]
    ) -> Any:
        values = {name: bool(v) if name in self._bools else v for name, v in attributes.items()}
        try:
            return function(*inputs, **values)
        except Exception as error:  # the function may raise anything
            frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is this function
            own = [f"{f.filename}:{f.lineno}" for f in frames]
            is_engines = isinstance(error, EngineError)  # its arguments are a code and the text
            reason = error.args[1] if is_engines else f"{type(error).__name__}: {error}"
            what = f"operator {self.op.name}: {reason}"
            raise PluginError(what, where=own[0] if own else self.place) from error

    def _dtype(self, array: NDArray[Any]) -> int:
        for name, code in _NUMPY.items():
            if array.dtype == np.dtype(code):
                return schema.DTYPES[name]
        raise self._error(f"returns {array.dtype}, which is not one of {', '.join(_NUMPY)}")

    def _check_count(self, actual: int, expected: int) -> None:
        if actual != expected:
            raise self._error(f"returns {actual} instead of {expected} results")

    def _error(self, what: str) -> PluginError:
        return PluginError(f"operator {self.op.name}: the function {what}", where=self.place)


def _register(function: _PythonOperator) -> None:
    op = function.op
    if not op.run_time:
        raise PluginError(
            f"operator {op.name} is compiled in ({op.path})",
            where=function.place,
            hint="Python functions need a schema with run_time = true",
        )

    def mask(trait: str) -> int:
        return sum(1 << i for i, port in enumerate(op.inputs) if getattr(port, trait))

    try:
        extension().register_function(
            op.name,
            function.place,
            op.input_counts,
            op.output_counts,
            (mask("optional"), mask("constant")),
            sum(1 << schema.DTYPES[d] for d in op.dtypes),
            op.layout == "nhwc",
            [f"{a.name}:{a.type}" for a in op.attributes],
            function.shapes,
            function.run,
        )
    except EngineError as e:
        raise PluginError(
            e.args[1], hint="an operator has one provider: a function or a library"
        ) from None
