"""Operators that functions of Python compute, so that a network runs here before their C++ exists.

    @trimtab.operator("twist")
    def twist(x, factor):
        return x * factor

The operator has its schema, `ops/twist.toml` of a plug-in with `run_time = true`. The function gets
the inputs as arrays (None: absent) and the attributes as keywords, and returns an array, or several
in a tuple. It may stand in a module of the plug-in's room `functions`, which is imported when the
engine is first used, or anywhere else that has run by then. docs/run-time-plugins.md has more.
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
    """Registers the function below as the operator `name`, for the life of this process.

    `shape`: takes the shapes of the inputs and the attributes, and returns that of the result, or a
    list of several; its type is then the first input's. Without, the function computes zeros once
    to tell. PluginError when the operator is compiled in, or something else computes it already.
    """

    def register(function: Function) -> Function:
        code = getattr(function, "__code__", None)
        place = f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)
        _register(_PythonOperator(schema.operator(name), function, shape, place))
        return function

    return register


class _PythonOperator:
    """What the engine calls; exceptions of the function become a PluginError with their line."""

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
        given: dict[str, Any],
        count: int,
    ) -> list[tuple[tuple[int, ...], int]]:
        """(shape, dtype) of every output, from those of the inputs."""
        if self._shape is not None:
            dims = [None if i is None else i[0] for i in inputs]
            said = self._called(self._shape, dims, given)
            shapes = said if isinstance(said, list) else [said]
            dtype = next((i[1] for i in inputs if i), schema.DTYPES["f32"])
            result = [(tuple(map(int, one)), dtype) for one in shapes]
        else:
            zeros = [None if i is None else np.zeros(i[0], _NUMPY[_NAMES[i[1]]]) for i in inputs]
            with np.errstate(all="ignore"):
                arrays = self._arrays(zeros, given)
            result = [(array.shape, self._dtype(array)) for array in arrays]
        self._check_count(len(result), count)
        return result

    def run(
        self,
        inputs: Sequence[NDArray[Any] | None],
        given: dict[str, Any],
        outputs: Sequence[NDArray[Any]],
    ) -> None:
        """Computes `inputs` into `outputs`."""
        for array in inputs:
            if array is not None:
                array.flags.writeable = False  # others may read it after this
        results = self._arrays(inputs, given)
        self._check_count(len(results), len(outputs))
        for result, output in zip(results, outputs, strict=True):
            if result.shape != output.shape or self._dtype(result) != self._dtype(output):
                raise self._error(
                    f"gives {result.dtype}{list(result.shape)}, where "
                    f"{output.dtype}{list(output.shape)} was told before"
                )
            output[...] = result

    def _arrays(
        self, inputs: Sequence[NDArray[Any] | None], given: dict[str, Any]
    ) -> list[NDArray[Any]]:
        said = self._called(self._function, inputs, given)
        arrays = [np.asarray(one) for one in (said if isinstance(said, tuple) else (said,))]
        return [a.astype(np.float32) if a.dtype == np.float64 else a for a in arrays]

    def _called(
        self, function: Callable[..., Any], inputs: Sequence[Any], given: dict[str, Any]
    ) -> Any:
        values = {name: bool(v) if name in self._bools else v for name, v in given.items()}
        try:
            return function(*inputs, **values)
        except Exception as error:  # whatever somebody's function does
            frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is this function
            own = [f"{f.filename}:{f.lineno}" for f in frames]
            what = f"operator {self.op.name}: {type(error).__name__}: {error}"
            raise PluginError(what, where=own[0] if own else self.place) from error

    def _dtype(self, array: NDArray[Any]) -> int:
        for name, code in _NUMPY.items():
            if array.dtype == np.dtype(code):
                return schema.DTYPES[name]
        raise self._error(f"gives {array.dtype}, which is none of {', '.join(_NUMPY)}")

    def _check_count(self, given: int, wanted: int) -> None:
        if given != wanted:
            raise self._error(f"gives {given} results, where {wanted} are wanted")

    def _error(self, what: str) -> PluginError:
        return PluginError(f"operator {self.op.name}: the function {what}", where=self.place)


def _register(function: _PythonOperator) -> None:
    op = function.op
    if not op.run_time:
        raise PluginError(
            f"operator {op.name} is compiled in ({op.path})",
            where=function.place,
            hint="a function computes one whose schema says run_time = true",
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
        raise PluginError(e.args[1], hint="one function or library for each operator") from None
