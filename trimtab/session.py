"""Runs a program on this machine, by the way a device goes: optimize, plan, model file, engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab import modelfile
from trimtab.engine import EngineError, engine
from trimtab.errors import BudgetError, PlanError, ProgramError, TrimtabError, UsageError
from trimtab.program import Program

if TYPE_CHECKING:  # who only runs a model needs no planner
    from trimtab.planner.plan_file import Plan
    from trimtab.target import Target

# By what the engine calls them (runtime/api/trimtab.h); all else is the program's.
_ERRORS: Mapping[int, type[TrimtabError]] = {
    4: PlanError,  # TRIMTAB_MISSING_OP
    5: PlanError,  # TRIMTAB_MISSING_KERNEL
    9: BudgetError,  # TRIMTAB_MEMORY_LIMIT
}


class Session:
    """A program ready to run here. A program that is already planned is run as it is, in place in
    the .ttm file that it was loaded from; for another, what `plan` says goes before the planner's
    rules. `program` is what runs: planned, its constants in the memory that the engine uses;
    `input_names` and `output_names` are those of its inputs and outputs in the model's order.
    Threads may share a session: their runs take place one after the other. Activations and prepared
    weights may take `max_memory_bytes` together; 0: 2 GiB.

    Raises PlanError when the plan needs kernels this machine lacks, BudgetError when it needs more
    memory than that, ProgramError when the program breaks its rules.
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

            made = optimize(program, Target.host(threads=threads), plan)
            program = modelfile.decode(modelfile.encode(made, consume=True), program.name)
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
        """arena_bytes, arena_lower_bound_bytes, weights_bytes and prepared_bytes."""
        return dict(self._executor.memory())

    def run(self, inputs: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
        """Computes the outputs by name, in the layout of the source model (NCHW for images).

        inputs: an array for every input name, of its exact shape; UsageError when one is missing,
        unknown or misshapen.
        """
        names = self.input_names, self.output_names
        outputs: dict[str, NDArray[Any]] | None = self._executor.run_by_name(*names, inputs)
        if outputs is None:
            raise self._refused(inputs)
        return outputs

    def time_operators(self) -> list[float]:
        """Nanoseconds of every operator of the program in one more inference, with the inputs of
        the last `run`.
        """
        return list(self._executor.time_operators())

    def _refused(self, inputs: Mapping[str, ArrayLike]) -> UsageError:
        names = ", ".join(self.input_names)
        if unknown := sorted(set(inputs) - set(self.input_names)):
            hint = f"the model has: {names}"
            return UsageError(f"unknown inputs: {', '.join(unknown)}", hint=hint)
        if missing := sorted(set(self.input_names) - set(inputs)):
            hint = f"give arrays for: {names}"
            return UsageError(f"inputs are missing: {', '.join(missing)}", hint=hint)
        wanted = dict(zip(self.input_names, self._executor.inputs(), strict=True))
        name, shape, right = next(
            (name, found, shape)
            for name, (shape, _) in wanted.items()
            if (found := np.shape(inputs[name])) != shape
        )
        return UsageError(
            f"input {name!r} has shape {shape}, the model wants {right}",
            hint="load the model with inputs={name: shape} to use another shape",
        )


def optimize(program: Program, target: Target | None = None, plan: Plan | None = None) -> Program:
    """The optimized and planned twin of `program` for `target` (default: this machine). `program`
    is unchanged. What `plan` says goes before the planner's rules.
    """
    from trimtab import passes
    from trimtab.planner import planner
    from trimtab.target import Target

    target = target or Target.host()
    return planner.plan(passes.optimize(program), target, plan)
