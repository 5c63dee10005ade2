"""Runs a program on this machine through the same steps as on a device: optimize, plan, model file,
engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab import modelfile
from trimtab.engine import EngineError, engine
from trimtab.errors import BudgetError, PlanError, ProgramError, TrimtabError, UsageError
from trimtab.program import Program

if TYPE_CHECKING:  # running a planned model must not load the planner
    from trimtab.planner.plan_file import Plan
    from trimtab.target import Target

# By the engine's status code (runtime/api/trimtab.h); all others are a ProgramError.
_ERRORS: Mapping[int, type[TrimtabError]] = {
    4: PlanError,  # TRIMTAB_MISSING_OP
    5: PlanError,  # TRIMTAB_MISSING_KERNEL
    9: BudgetError,  # TRIMTAB_MEMORY_LIMIT
}


class Session:
    """A program that is ready to run on this machine.

    A program that is already planned runs unchanged, in place in the .ttm file that it was loaded
    from; another one is optimized and planned, with `plan` as overrides of the planner's rules.
    `program` is the planned program, whose constants lie in the memory that the engine uses;
    `input_names` and `output_names` are in the model's order. Several threads may share a session;
    their runs are serialized. Activations and prepared weights may use up to `max_memory_bytes`
    together; 0 means 2 GiB, and 8 bytes more for each byte of the model.

    Raises PlanError if the plan needs kernels that this machine lacks, BudgetError if it needs more
    memory than allowed, ProgramError if the program breaks the rules of its operators.
    """

    def __init__(
        self,
        program: Program,
        threads: int = 1,
        plan: Plan | None = None,
        max_memory_bytes: int = 0,
    ) -> None:
        if threads < 1:
            raise UsageError(f"threads must be at least 1, not {threads}")
        if max_memory_bytes < 0:
            raise UsageError(f"max_memory_bytes must be at least 0, not {max_memory_bytes}")
        if plan or not program.planned:
            from trimtab.target import Target

            planned = optimize(program, Target.host(threads=threads), plan)
            program = modelfile.decode(modelfile.encode(planned, consume=True), program.name)
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

    @property
    def memory(self) -> dict[str, int]:
        """Memory use in bytes: arena_bytes, arena_lower_bound_bytes, weights_bytes and
        prepared_bytes.
        """
        return dict(self._executor.memory())

    def run(self, inputs: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
        """Runs one inference and returns the outputs by name, in the layout of the source model
        (NCHW for images).

        `inputs`: one array of the exact shape per input name; UsageError if one is missing, unknown
        or of another shape.
        """
        names = self.input_names, self.output_names
        outputs: dict[str, NDArray[Any]] | None = self._executor.run_by_name(*names, inputs)
        if outputs is None:
            raise self._input_error(inputs)
        return outputs

    def time_operators(self) -> list[float]:
        """Runs another inference with the inputs of the last `run` and returns the nanoseconds of
        each operator.
        """
        return list(self._executor.time_operators())

    def _input_error(self, inputs: Mapping[str, ArrayLike]) -> UsageError:
        names = ", ".join(self.input_names)
        if unknown := sorted(set(inputs) - set(self.input_names)):
            hint = f"the model has: {names}"
            return UsageError(f"unknown inputs: {', '.join(unknown)}", hint=hint)
        if missing := sorted(set(self.input_names) - set(inputs)):
            hint = f"pass arrays for: {names}"
            return UsageError(f"inputs are missing: {', '.join(missing)}", hint=hint)
        expected = dict(zip(self.input_names, self._executor.inputs(), strict=True))
        name, shape, expected_shape = next(
            (name, actual, shape)
            for name, (shape, _) in expected.items()
            if (actual := np.shape(inputs[name])) != shape
        )
        return UsageError(
            f"input {name!r} has shape {shape}, the model expects {expected_shape}",
            hint="load the model with inputs={name: shape} to use another shape",
        )


def optimize(program: Program, target: Target | None = None, plan: Plan | None = None) -> Program:
    """Returns an optimized and planned copy of `program` for `target` (default: this machine), with
    `plan` as overrides of the planner's rules.
    """
    from trimtab import passes
    from trimtab.planner import planner
    from trimtab.target import Target

    target = target or Target.host()
    return planner.plan(passes.optimize(program), target, plan)
