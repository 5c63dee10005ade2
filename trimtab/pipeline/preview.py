"""Previews: what reading a recipe's model and samples tells before anything is built."""

from __future__ import annotations

from dataclasses import dataclass, field

from trimtab.errors import TrimtabError
from trimtab.pipeline import input_shapes, precision
from trimtab.pipeline.recipe import Recipe, Shapes
from trimtab.pipeline.resolve import find_target, load_program
from trimtab.planner.precision import check_target
from trimtab.program import Program


@dataclass(frozen=True)
class Preview:
    """The shapes of a network's inputs, as far as they are known, and the error that prevents a
    build, if one is known.
    """

    inputs: Shapes
    error: TrimtabError | None = None


@dataclass
class Previews:
    """The previews of several recipes. What recipes share is read once."""

    _newest: tuple[tuple[str, ...], Program | TrimtabError] | None = None
    _samples: dict[tuple[str, ...], TrimtabError | None] = field(default_factory=dict)

    def of(self, recipe: Recipe) -> Preview:
        """Reads the model and the samples of a recipe."""
        network = recipe.model, input_shapes.text(recipe.shapes)
        if self._newest is None or self._newest[0] != network:  # memory holds one network
            self._newest = network, _load(recipe)
        program = self._newest[1]
        if isinstance(program, TrimtabError):
            return Preview(recipe.shapes, program)
        inputs = {name: program.vars[name].shape for name in program.inputs}
        calibration = recipe.calibrating
        try:
            precision.check(program, recipe.plan, calibration)
            if recipe.plan.precision == "f16":
                check_target(find_target(recipe.toolchain, recipe.cpu))
        except TrimtabError as error:
            return Preview(inputs, error)
        samples = *network, calibration.samples
        if calibration.samples and samples not in self._samples:
            self._samples[samples] = None
            try:
                calibration.read(program)
            except TrimtabError as error:
                self._samples[samples] = error
        return Preview(inputs, self._samples.get(samples))


def _load(recipe: Recipe) -> Program | TrimtabError:
    try:
        return load_program(recipe.model, recipe.shapes)
    except TrimtabError as error:
        return error
