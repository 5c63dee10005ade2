"""Runs a program on this machine through the same steps as on a device: optimize, plan, model file,
engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab import importers, input_arrays, modelfile
from trimtab.engine import EngineError, engine
from trimtab.errors import (
    BudgetError,
    PlanError,
    ProgramError,
    TrimtabError,
    UsageError,
    whole_number,
)
from trimtab.importers import Model
from trimtab.modelfile.image import Image
from trimtab.program import Program

if TYPE_CHECKING:  # running a planned model must not load the planner, nor cameras
    from trimtab.camera import Frame
    from trimtab.planner.plan_file import Plan
    from trimtab.target import Target

# By the engine's status code (runtime/api/trimtab.h); all others are a ProgramError.
_MOST_THREADS = 64  # of the engine
_MOST_BYTES = 2**64 - 1

_ERRORS: Mapping[int, type[TrimtabError]] = {
    4: PlanError,  # TRIMTAB_MISSING_OP
    5: PlanError,  # TRIMTAB_MISSING_KERNEL
    9: BudgetError,  # TRIMTAB_MEMORY_LIMIT
}


@dataclass(frozen=True)
class TensorType:
    """Shape and element type of an input or output: float32[1, 3, 224, 224]."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


class Session:
    """A program that is ready to run on this machine.

    `program`: a program, or anything that `load` accepts, such as the path of a model. A program
    that is already planned runs unchanged, in place in the .ttm file that it was loaded from;
    another one is optimized and planned, with `plan` as overrides of the planner's rules. Such a
    plan may use all code of the engine, where that of `optimize` counts the bytes of a binary.
    Several threads may share a session; their runs are serialized. Activations and prepared weights
    may use up to `max_memory_bytes` together; 0 means 2 GiB, and 8 bytes more for each byte of the
    model. `cache`: whether to keep the plan of a loaded model for the next session
    (docs/plan-cache.md).

    Attributes: `program` is the planned program, whose constants lie in the memory that the engine
    uses; `inputs` and `outputs` are a `TensorType` by name, in the model's order; `input_names` and
    `output_names` are their names.

    Raises PlanError if the plan needs kernels that this machine lacks, BudgetError if it needs more
    memory than allowed, ProgramError if the program breaks the rules of its operators, and the
    errors of `load`.
    """

    def __init__(
        self,
        program: Program | Model,
        threads: int = 1,
        plan: Plan | None = None,
        max_memory_bytes: int = 0,
        *,
        cache: bool = True,
    ) -> None:
        if not isinstance(program, Program):
            program = importers.load(program, cache=cache)
        threads = whole_number("threads", threads, 1, _MOST_THREADS)
        max_memory_bytes = whole_number("max_memory_bytes", max_memory_bytes, 0, _MOST_BYTES)
        _check_plan(plan)
        if plan or not program.planned:
            program = modelfile.decode(_planned(program, threads, plan, cache), program.name)
        elif program.image is None:
            program = modelfile.decode(modelfile.encode(program), program.name)
        self.program = program
        self.input_names = tuple(program.inputs)
        self.output_names = tuple(program.outputs)
        self._executor: Any = None
        try:
            image = program.image
            mapped = modelfile.is_mapped(image)
            self._executor = engine().Executor(image, threads, mapped, max_memory_bytes)
        except EngineError as e:
            code, message = e.args
            where = f"program {program.name}, planned for {program.target}"
            raise _ERRORS.get(code, ProgramError)(message, where=where) from None
        self._settings = threads, max_memory_bytes
        self.inputs: Mapping[str, TensorType] = _types(self.input_names, self._executor.inputs())
        self.outputs: Mapping[str, TensorType] = _types(self.output_names, self._executor.outputs())

    def __repr__(self) -> str:
        inputs, outputs = (
            ", ".join(f"{name} {type}" for name, type in types.items())
            for types in (self.inputs, self.outputs)
        )
        return f"<Session {self.program.name}: {inputs} -> {outputs}; {self.program.target}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, here or in another process, opens the planned program again."""
        threads, max_memory_bytes = self._settings
        return Session, (self.program, threads, None, max_memory_bytes)

    @property
    def memory(self) -> dict[str, int]:
        """Memory use in bytes: arena_bytes, arena_lower_bound_bytes, weights_bytes and
        prepared_bytes.
        """
        return dict(self._executor.memory())

    def reset(self) -> None:
        """Gives the states that the model keeps between runs their first values; UsageError if it
        keeps none.
        """
        try:
            self._executor.reset()
        except EngineError as error:
            hint = "load it with NAME=@OUTPUT for each state, see docs/states.md"
            raise UsageError(error.args[1], where=self.program.name, hint=hint) from None

    def overwrite_inputs(self, count: int) -> None:
        """Lets runs compute the last `count` outputs in the arrays of the last `count` inputs, each
        in that of the input at its place, where no operator reads the input later. These arrays
        must then be writable, and their elements are lost. Other outputs stay in memory of their
        own. Images of cameras cannot be inputs of such a session.
        """
        count = whole_number("count", count, 0, len(self.input_names))
        self._executor.overwrite_inputs(count)

    @overload
    def run(
        self,
        inputs: Mapping[str, ArrayLike | Frame] | ArrayLike | Frame,
        feeds: None = None,
        *,
        cast: bool = False,
        out: Mapping[str, NDArray[Any]] | None = None,
    ) -> dict[str, NDArray[Any]]: ...

    @overload
    def run(
        self,
        inputs: Sequence[str] | None,
        feeds: Mapping[str, ArrayLike | Frame],
        *,
        cast: bool = False,
        out: Mapping[str, NDArray[Any]] | None = None,
    ) -> list[NDArray[Any]]: ...

    def run(
        self,
        inputs: Mapping[str, ArrayLike | Frame] | ArrayLike | Frame | Sequence[str] | None,
        feeds: Mapping[str, ArrayLike | Frame] | None = None,
        *,
        cast: bool = False,
        out: Mapping[str, NDArray[Any]] | None = None,
    ) -> dict[str, NDArray[Any]] | list[NDArray[Any]]:
        """Runs one inference and returns the outputs by name, in the layout of the source model
        (NCHW for images). Sizes that depend on data are those of this run.

        `inputs`: one array per input name, or just the array if there is one input. Shapes and
        element types are exactly those of `Session.inputs`, which are the largest ones of free
        dimensions; lists of numbers take the input's type.
        `cast` converts the values of other types, unchanged: pixels from 0 to 255 stay so.
        Inputs behind a camera also take a `trimtab.camera.Frame`, a Pillow image, or an RGB array
        uint8[h, w, 3]; neither is copied.
        `out`: arrays that take the outputs of these names instead of new ones; they may be inputs.
        With `feeds` it is the call of onnxruntime: `run(None, feeds)`, or `run(names, feeds)`,
        returns a list of all outputs, or of those with these names.

        UsageError if an input is missing, unknown, or has another shape or type, or if an array
        cannot take its output.
        """
        if feeds is not None:
            return self._listed(inputs, self.run(feeds, cast=cast, out=out))
        targets = dict(out or {})
        if not (targets and self._free):
            for name, array in targets.items():
                self._check_out(name, array)
        run = partial(self._executor.run, self.input_names, self.output_names)
        outputs: dict[str, NDArray[Any]] | None
        try:
            outputs = run(inputs, targets)
        except EngineError as error:
            raise self._failed(error) from None
        if outputs is not None:
            return outputs
        values = self._values(inputs)
        frames = {name: frame for name in values if (frame := self._frame(name, values[name]))}
        arrays = {
            name: self._array(name, value, cast)
            for name, value in values.items()
            if name not in frames
        }
        images = {
            name: (frame.number, frame.size, frame.planes(), frame.crop or (0, 0, 0, 0))
            for name, frame in frames.items()
        }
        try:
            outputs = run(arrays | images, targets, bool(self._free))
        except EngineError as error:
            raise self._refused(error, arrays, frames) from None
        assert outputs is not None
        return outputs

    def _listed(self, names: Any, outputs: dict[str, NDArray[Any]]) -> list[NDArray[Any]]:
        """The outputs of these names, None for all; UsageError for one that does not exist."""
        chosen = list(self.output_names if names is None else names)
        if unknown := [name for name in chosen if name not in outputs]:
            hint = f"there are {', '.join(self.output_names)}"
            raise UsageError(f"{unknown[0]!r} is not an output", hint=hint)
        return [outputs[name] for name in chosen]

    def _refused(
        self, error: EngineError, arrays: Mapping[str, NDArray[Any]], frames: Mapping[str, Frame]
    ) -> Exception:
        """The error of a run with frames, or with shapes that the network may not have."""
        if not (frames or self._free):
            return self._failed(error)
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        where, page = (
            (f"input {', '.join(frames)}", "camera") if frames else (shapes, "free-dimensions")
        )
        return UsageError(error.args[1], where=where, hint=f"docs/{page}.md")

    def _failed(self, error: EngineError) -> Exception:
        """The error of a run, whose data may lead to sizes that the network cannot have."""
        if not self.program.is_counted:
            return error
        code, message = error.args
        return _ERRORS.get(code, ProgramError)(
            message,
            where=f"program {self.program.name}",
            hint="docs/free-dimensions.md#sizes-that-depend-on-data",
        )

    def _check_out(self, name: str, array: NDArray[Any]) -> None:
        type = self.outputs.get(name)
        if type is None:
            hint = f"there are {', '.join(self.output_names)}"
            raise UsageError(f"`out` has {name!r}, which is not an output", hint=hint)
        flags = array.flags
        if TensorType(array.shape, array.dtype) != type or not (flags.carray and flags.aligned):
            raise UsageError(
                f"the array of `out` for {name!r} cannot take it",
                hint=f"pass a contiguous, writeable array {type}",
            )

    def time_operators(self) -> list[float]:
        """Runs another inference with the inputs of the last `run` and returns the nanoseconds of
        each operator.
        """
        return list(self._executor.time_operators())

    def _values(self, inputs: Mapping[str, Any] | Any) -> Mapping[str, Any]:
        """The values of all inputs by name; UsageError if one is missing or unknown."""
        names = ", ".join(self.input_names)
        if not isinstance(inputs, Mapping):
            if len(self.input_names) != 1:
                raise UsageError(
                    f"inputs are a {type(inputs).__name__}, and the model has "
                    f"{len(self.input_names)} inputs",
                    hint=f"pass a dictionary of arrays for: {names}",
                )
            inputs = {self.input_names[0]: inputs}
        if unknown := sorted(set(inputs) - set(self.input_names), key=str):
            hint = f"the model has: {names}"
            raise UsageError(f"unknown inputs: {', '.join(map(str, unknown))}", hint=hint)
        if missing := sorted(set(self.input_names) - set(inputs)):
            hint = f"pass arrays for: {names}"
            raise UsageError(f"inputs are missing: {', '.join(missing)}", hint=hint)
        return inputs

    @cached_property
    def _cameras(self) -> Mapping[str, str]:
        """The pixel format of each input that is behind a camera."""
        # Of a copy: decoding a program's operators would let go of its file.
        return {
            op.inputs[0]: str(op.attributes["format"])
            for op in self.program.copy().ops
            if op.type == "camera_image"
        }

    @cached_property
    def _free(self) -> frozenset[str]:
        """The inputs that have free dimensions."""
        ops = self.program.copy().ops
        return frozenset(name for op in ops if op.type == "free_sizes" for name in op.inputs)

    def _frame(self, name: str, value: Any) -> Frame | None:
        """The frame for an input behind a camera; None for the bytes of one of its own frames."""
        if isinstance(value, np.ndarray) and value.shape == self.inputs[name].shape:
            return None
        if name not in self._cameras:
            return None
        from trimtab.camera import Frame

        is_own = getattr(value, "ndim", 3) == 2 and not hasattr(value, "convert")
        return Frame.of(value, self._cameras[name] if is_own else "")

    def _array(self, name: str, value: Any, cast: bool) -> NDArray[Any]:
        """An input as an array of the model's type and shape; UsageError if it does not fit."""
        expected = self.inputs[name]
        array = input_arrays.converted(
            value, expected.dtype, name=name, cast=cast, error=UsageError
        )
        if array.shape != expected.shape and name not in self._free:
            raise UsageError(
                f"input {name!r} has shape {array.shape}, the model expects {expected.shape}",
                hint=input_arrays.transposition(array.shape, expected.shape)
                or "load the model with inputs={name: shape} to use another shape",
            )
        return array


def _check_plan(plan: object) -> None:
    """Raises UsageError for what is no plan, such as the name of its file."""
    if plan is not None and not hasattr(plan, "with_threads"):
        raise UsageError(
            f"`plan` is a {type(plan).__name__}, not a trimtab.Plan",
            hint='a plan file is read by trimtab.Plan.read("plan.toml")',
        )


def _planned(program: Program, threads: int, plan: Plan | None, cache: bool) -> Image:
    """The bytes of the program's plan for this machine, from the cache if it has them."""
    from trimtab import plan_cache
    from trimtab.target import Target

    target, plans = Target.host(threads=threads), plan_cache.current() if cache else None
    if plans is None or not program.origin:
        return _newly_planned(program, target, plan)
    machine = target, target.bandwidth_core
    key = plan_cache.digest("session", program.origin, program.name, machine, plan)
    image = plans.image(key)
    if image is None:
        image = _newly_planned(program, target, plan)
        plans.store_image(key, image)
    return image


def _newly_planned(program: Program, target: Target, plan: Plan | None) -> Image:
    """Plans a program. The only reference to its constants is then that of the caller, so that
    memory does not have them twice.
    """
    from trimtab import passes
    from trimtab.planner import planner

    optimized = passes.optimize(program)
    planned = planner.plan(optimized, target, plan, has_all_code=True)
    del optimized
    return modelfile.encode(planned, consume=True)


def _types(
    names: tuple[str, ...], types: list[tuple[tuple[int, ...], np.dtype[Any]]]
) -> Mapping[str, TensorType]:
    by_name = {name: TensorType(*one) for name, one in zip(names, types, strict=True)}
    return MappingProxyType(by_name)


def optimize(program: Program, target: Target | None = None, plan: Plan | None = None) -> Program:
    """Returns an optimized and planned copy of `program` for `target` (default: this machine), with
    `plan` as overrides of the planner's rules.
    """
    from trimtab import passes
    from trimtab.planner import planner
    from trimtab.target import Target

    _check_plan(plan)
    target = target or Target.host()
    return planner.plan(passes.optimize(program), target, plan)
