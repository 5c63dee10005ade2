"""A training step as a program: forward, losses, backward and update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab.errors import ProgramError, UsageError
from trimtab.gradients import OpBuilder
from trimtab.learning import losses
from trimtab.learning.backward import Differentiable, reaching
from trimtab.learning.batch_statistics import use_batch_statistics
from trimtab.learning.dropout import Mask, add_masks
from trimtab.learning.optimizers import Update, optimizer
from trimtab.learning.parameters import Multipliers, Trainable, choose
from trimtab.learning.placement import update_early
from trimtab.learning.reproducible import make_reproducible
from trimtab.learning.settings import Loss, Solver
from trimtab.program import Block, Program

RATE, LOSS, IS_UPDATE = "learning_rate", "loss", "is_update"

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Labels:
    """The valid values of an input with labels: the number of classes, and a label to ignore."""

    classes: int
    ignored: int | None


@dataclass(frozen=True)
class TrainingProgram:
    """A program that computes one training step, and what its operands are.

    `network`: the network to train. `program` reads the inputs of the network, the targets of the
    losses, the learning rate and, last, the tensors of `next_values`: parameters, states of the
    optimizer and running statistics. It computes the output `loss` and, as its last outputs
    `next_values[name]`, in the same order, the next value of each of them. If several batches make
    an update, the input `is_update` says whether this one is the last. `parameters`: the names of
    the trained constants. `initial`: the first value of each tensor of `next_values`. `masks`:
    inputs that are drawn for each step. `labels`: the inputs with labels. `input_gradients`: the
    outputs with the gradients of inputs. `from_zero`: running statistics that began at zero, and
    the share of their value that a step keeps.
    """

    network: Program
    program: Program
    loss: str
    solver: Solver
    parameters: tuple[str, ...]
    next_values: Mapping[str, str]
    initial: Mapping[str, Array]
    masks: Mapping[str, Mask]
    labels: Mapping[str, Labels]
    input_gradients: Mapping[str, str]
    from_zero: Mapping[str, float]

    def __repr__(self) -> str:
        return f"<TrainingProgram {self.network.name}: {len(self.parameters)} parameters>"

    def checked(self, name: str, value: ArrayLike) -> ArrayLike:
        """An input of a step; labels as int32. UsageError for a label that is no class."""
        array, labels = np.asarray(value), self.labels.get(name)
        if labels is None or array.dtype.kind not in "iu":
            return value
        wrong = (array < 0) | (array >= labels.classes)
        if labels.ignored is not None:
            wrong &= array != labels.ignored
        if wrong.any():
            hint = f"labels are from 0 to {labels.classes - 1}; Loss(..., ignore_label=N) skips N"
            raise UsageError(f"input {name!r} has the label {array[wrong][0]}", hint=hint)
        return array.astype(np.int32)

    def in_order(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """Values in the order of the program's inputs, as in a checkpoint."""
        return {name: values[name] for name in self.next_values}

    def trained(self, values: Mapping[str, Array], steps: int) -> Program:
        """The network with the parameters and running statistics of `values` after some steps."""
        program = self.network.copy()
        for name in values.keys() & program.vars.keys():
            weight = 1 - self.from_zero.get(name, 0.0) ** steps if steps else 1.0
            program.vars[name].data = np.asarray(values[name] / weight, np.float32)
        return program


def training(
    program: Program,
    *,
    loss: str | Loss | Sequence[Loss] = "softmax",
    trainable: Trainable = None,
    optimizer: str | Solver = "sgd",
    batch_statistics: Sequence[str] = (),
    batch_momentum: float = 0.9,
    statistics_from_zero: bool = False,
    dropout: Mapping[str, float] | None = None,
    force_backward: Sequence[str] = (),
    blocked: Sequence[str] = (),
) -> TrainingProgram:
    """Builds the training step of a network.

    `loss`: what to minimize: a kind, a `Loss`, or several, whose sum counts. `trainable`: patterns
    of parameters, see docs/training.md; None: all weights. `optimizer`: its name or a `Solver`.
    `batch_statistics`: patterns of batch normalizations that use the mean and the variance of the
    batch; the running ones keep the share `batch_momentum` of their value. All others are fixed.
    `statistics_from_zero`: running statistics begin at zero, and a mean over all steps so far is
    the result, as in Caffe.
    `dropout`: patterns of operators, and the share of their results that a step sets to zero.
    `force_backward`: patterns of inputs of the network whose gradients a step computes, too.
    `blocked`: operators, by their names, through which no gradient goes (Caffe's `propagate_down:
    false`).

    UsageError for an unknown name or pattern, or if there is nothing to train; ProgramError if an
    operator between a parameter and the loss has no gradient.
    """
    if program.passes:
        if program.source is None:
            raise ProgramError(
                "an optimized program cannot be trained: its layers are fused",
                where=f"program {program.name}",
                hint="pass the program that trimtab.load returns for the original model file",
            )
        program = program.source
    program.require_fixed_sizes("a training")
    terms = [Loss(loss)] if isinstance(loss, str) else [loss] if isinstance(loss, Loss) else loss
    solver = Solver(optimizer) if isinstance(optimizer, str) else optimizer
    parameters = choose(program, trainable)
    if not parameters and not force_backward:
        raise UsageError(
            "the network has nothing to train: no operator of it has weights",
            where=f"program {program.name}",
            hint="train a network with layers such as convolutions, or name another constant with"
            " trainable; force_backward computes gradients of inputs alone",
        )
    return _Builder(program, list(terms), solver, parameters).build(
        batch_statistics,
        batch_momentum,
        statistics_from_zero,
        dropout or {},
        force_backward,
        blocked,
    )


def evaluation(program: Program, loss: Sequence[Loss]) -> Program:
    """A network with the sum of losses, if there are any, as its first output, `loss`.

    Its inputs are those of the network and the targets of the losses.
    """
    return _Builder(program, list(loss), Solver(), {}).build_evaluation()


class _Builder:
    """Builds a training program in a copy of the network."""

    def __init__(
        self,
        network: Program,
        terms: list[Loss],
        solver: Solver,
        parameters: dict[str, Multipliers],
    ) -> None:
        self.network, self.terms = network, terms
        self.solver, self.parameters = solver, parameters
        self.program = network.copy()
        self.program.name = f"{network.name}.training"
        self.block: Block = self.program.block
        self.next_values: dict[str, str] = {}
        self.initial: dict[str, Array] = {}
        self.labels: dict[str, Labels] = {}

    def build(
        self,
        batch_statistics: Sequence[str],
        batch_momentum: float,
        statistics_from_zero: bool,
        dropout: Mapping[str, float],
        force_backward: Sequence[str],
        blocked: Sequence[str],
    ) -> TrainingProgram:
        program, network = self.program, self.network
        forced = self._forced(force_backward)
        program.outputs = []
        predictions = [self._prediction(loss) for loss in self.terms]
        if blocked:
            reached = reaching(self.block, predictions, blocked)
            self.parameters = {n: m for n, m in self.parameters.items() if n in reached}
        masks = add_masks(program, dropout)
        running = use_batch_statistics(self.block, batch_statistics, batch_momentum)
        for name in (*self.parameters, *running):
            data = network.vars[name].data
            assert data is not None
            self.block.vars[name].data = None
            begin = 0 if statistics_from_zero and name in running else 1
            self.initial[name] = np.asarray(data * begin, np.float32)
        active, results = (*self.parameters, *forced), (*predictions, *running.values())
        graph = Differentiable(self.block, active, results, blocked)
        total = self._total(graph, [graph.name(name) for name in predictions])
        gradients = graph.add_gradients(total, active)
        input_gradients = {
            name: self._output(gradients.pop(name), f"{name}.gradient") for name in forced
        }
        make_reproducible(self.block)
        update = len(self.block.ops)
        self._input(RATE, (1,), "f32")
        is_update = self._accumulate(gradients)
        scale = self._clip(gradients)
        for name in self.parameters:
            self._update(name, gradients[name], scale, is_update)
        update_early(self.block, update, self.next_values)
        for name, new in running.items():
            self._keep(name, graph.name(new))
        program.inputs = [name for name in program.inputs if name not in self.next_values]
        program.inputs += self.next_values
        return TrainingProgram(
            network,
            program,
            total,
            self.solver,
            tuple(self.parameters),
            self.next_values,
            self.initial,
            masks,
            self.labels,
            input_gradients,
            dict.fromkeys(running, batch_momentum) if statistics_from_zero else {},
        )

    def _forced(self, patterns: Sequence[str]) -> list[str]:
        """The inputs whose gradients are computed; UsageError for a pattern that fits none."""
        allowed = [name for name in self.network.inputs if self.network.vars[name].dtype == "f32"]
        allowed = [name for name in allowed if all(name != loss.target for loss in self.terms)]
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in allowed):
                hint = f"there are: {', '.join(allowed) or 'none'}; labels have no gradient"
                raise UsageError(f"no input with a gradient fits {pattern!r}", hint=hint)
        return [n for n in allowed if any(fnmatchcase(n, pattern) for pattern in patterns)]

    def build_evaluation(self) -> Program:
        """The program of `evaluation`."""
        outputs, self.program.outputs = self.program.outputs, []
        predictions = [self._prediction(loss) for loss in self.terms]
        graph = Differentiable(self.block, (), [*predictions, *outputs])
        if predictions:
            self._total(graph, predictions)
        self.program.outputs += outputs
        return self.program

    def _prediction(self, loss: Loss) -> str:
        """The tensor that a loss reads: an output, or the operand of an activation that the loss
        computes itself.
        """
        outputs = self.network.outputs
        if not loss.output and len(outputs) != 1:
            hint = f"Loss({loss.kind!r}, output=...), one of {', '.join(outputs)}"
            raise UsageError("the network has several outputs", hint=hint)
        output = loss.output or outputs[0]
        if output not in outputs:
            raise UsageError(f"there is no output {output!r}", hint=f"one of {', '.join(outputs)}")
        absorbed = losses.kind(loss.kind).ABSORBS
        for op in self.block.ops:
            if output in op.outputs and op.type == absorbed:
                return op.inputs[0]
        return output

    def _input(self, name: str, shape: tuple[int, ...], dtype: str) -> str:
        if name in self.block.vars:
            hint = "choose another name for the target: Loss(..., target=NAME)"
            raise UsageError(f"the network has a tensor named {name!r}", hint=hint)
        return self.program.add_input(name, shape, dtype)

    def _target(self, name: str, shape: tuple[int, ...], dtype: str) -> None:
        """Adds the input of a target; losses and the network may share it."""
        existing = self.block.vars.get(name)
        if name not in self.program.inputs or existing is None:
            self._input(name, shape, dtype)
        elif (existing.shape, existing.dtype) != (shape, dtype):
            raise UsageError(
                f"the input {name!r} is {existing.dtype}{list(existing.shape)}, and the loss needs "
                f"{dtype}{list(shape)}",
                hint="choose another name for the target: Loss(..., target=NAME)",
            )

    def _total(self, graph: Differentiable, predictions: list[str]) -> str:
        """Adds the losses and returns the name of their sum, [1]."""
        first = len(self.block.ops)
        values = []
        for loss, prediction in zip(self.terms, predictions, strict=True):
            target = losses.kind(loss.kind).target(self.block.vars[prediction].shape)
            if target:
                self._target(loss.target, *target)
                if target[1] == "i32":
                    classes = self.block.vars[prediction].shape[1]
                    self.labels[loss.target] = Labels(classes, loss.ignore_label)
            values.append(losses.add(self.block, loss, prediction, loss.target))
        builder = OpBuilder(self.block, LOSS)
        for value in values[1:]:
            values[0] = builder.add("add", values[0], value)
        if values[0] != LOSS:
            values[0] = self._named(values[0], LOSS)
        self.program.outputs.append(values[0])
        graph.extend(first)
        return values[0]

    def _named(self, tensor: str, name: str) -> str:
        """A view of a tensor under the name of an output."""
        shape = self.block.vars[tensor].shape
        op = self.block.make_op("reshape", [tensor], {"shape": shape}, [name], name)
        self.block.ops.append(op)
        return op.outputs[0]

    def _output(self, tensor: str, name: str) -> str:
        """Makes a tensor an output of that name."""
        self.program.outputs.append(self._named(tensor, name))
        return self.program.outputs[-1]

    def _accumulate(self, gradients: dict[str, str]) -> str:
        """Adds up the gradients of several batches, whose sums are values between steps. Returns
        the tensor that is not 0 if the step ends an update; "" if all steps do.
        """
        if self.solver.iter_size == 1:
            return ""
        self._input(IS_UPDATE, (1,), "bool")
        for name, gradient in gradients.items():
            total = self._input(f"{name}.gradient_sum", self.block.vars[name].shape, "f32")
            self.initial[total] = np.zeros(self.block.vars[name].shape, np.float32)
            builder = OpBuilder(self.block, f"{name}.accumulate")
            summed = builder.add("add", total, gradient)
            zero = builder.constant([0.0])
            self._keep(total, builder.add("where", IS_UPDATE, zero, summed))
            gradients[name] = summed
        return OpBuilder(self.block, IS_UPDATE).add("cast", IS_UPDATE, to="f32")

    def _clip(self, gradients: dict[str, str]) -> str:
        """The factor that makes the common norm of all gradients at most `clip_gradients`; "" if
        there is no bound.
        """
        bound = self.solver.clip_gradients
        if not bound:
            return ""
        builder = OpBuilder(self.block, "clip_gradients")
        squares = [builder.total(builder.add("mul", g, g)) for g in gradients.values()]
        total = squares[0]
        for square in squares[1:]:
            total = builder.add("add", total, square)
        norm = builder.add("clip", builder.add("sqrt", total), alpha=bound)
        return builder.add("div", builder.constant([bound]), norm)

    def _update(self, name: str, gradient: str, scale: str, is_update: str) -> None:
        """Adds the update of a parameter, its states, and the outputs with the next values."""
        multipliers, rule = self.parameters[name], optimizer(self.solver.optimizer)
        shape = self.block.vars[name].shape
        names = [name]
        for state in rule.states(self.solver):
            names.append(self._input(f"{name}.{state}", shape, "f32"))
            self.initial[names[-1]] = np.zeros(shape, np.float32)
        update = Update(
            name,
            gradient,
            RATE,
            tuple(names[1:]),
            scale,
            is_update,
            multipliers.rate,
            1 / self.solver.iter_size,
            self.solver.weight_decay * multipliers.decay,
            self.solver.regularization,
        )
        results = rule.update(OpBuilder(self.block, f"{name}.update"), self.solver, update)
        for old, result in zip(names, results, strict=True):
            self._keep(old, result)

    def _keep(self, name: str, result: str) -> None:
        """Makes a tensor an output: the next value of the input `name`."""
        new = f"{name}.next"
        if result != new:
            result = self._named(result, new)
        self.program.outputs.append(result)
        self.next_values[name] = result
