"""Parsers of plug-ins: functions that translate a layer type which trimtab does not support.

    from trimtab import GraphBuilder, Layer, operator_parser

    @operator_parser(framework="caffe", origin="Swirl", op="swirl")
    def parse(layer: Layer, graph: GraphBuilder):
        return graph.add("swirl", layer.x(0), factor=layer.float("factor", 2.0))

A parser adds one operator or several, of its plug-in or of trimtab, and returns the outputs of the
layer. Parameters that it does not read are errors, because they may change the result.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trimtab import plugins, schema
from trimtab.errors import PluginError, TrimtabError
from trimtab.importers._graph import Array, UnsupportedFormError, Value
from trimtab.importers._layer import ImportedLayer, Place, Results
from trimtab.importers._parameters import Parameters

_HANDLERS = "_ops"  # the suffix of the packages with handlers, one per format
FRAMEWORKS = tuple(
    sorted(
        package.name.removesuffix(_HANDLERS)
        for package in pkgutil.iter_modules([str(Path(__file__).parent)])
        if package.name.endswith(_HANDLERS)
    )
)


class Layer(Parameters):
    """A layer of a file: its parameters, operands and weights.

    `name` and `type` are those of the file. `source` is the layer as the built-in handlers see it,
    for anything that is specific to the format.
    """

    def __init__(self, source: ImportedLayer) -> None:
        super().__init__(source.parameters(), source.where)
        self.source = source
        self.name, self.type = source.name, source.type

    def __len__(self) -> int:
        """Number of inputs."""
        return self.source.count()

    def x(self, place: Place = 0) -> Value:
        """An input as a tensor with `shape` and `dtype`, by its index or its name in the file (a
        slot of Paddle, a key of PNNX).
        """
        return self.source.x(place)

    def known(self, place: Place, what: str) -> Array:
        """The value of a constant input; `what` is its role, for errors."""
        return self.source.known(place, what)

    def weights(self, place: Place, shape: Sequence[int], what: str) -> Array:
        """Weights of the layer: float32 of that shape (-1: any size, if the file stores it).

        `place` is the index of a Caffe blob, the name of a PNNX attribute, or the index or slot of
        a constant input. ncnn and Darknet ignore it and read the next weights of the file.
        """
        return self.source.stored_weights(place, shape, what)

    def unsupported(self, reason: str) -> UnsupportedFormError:
        """The exception to raise if the parser cannot translate this form of the layer."""
        return self.source.unsupported(reason)


class GraphBuilder:
    """Adds the operators of a layer to the program. The operators' shape rules apply at once."""

    def __init__(self, source: ImportedLayer) -> None:
        self._source = source
        self.constant = source.constant
        self.reshape = source.reshape
        self.transpose = source.transpose

    def add(self, op: str, *inputs: Value, **attributes: Any) -> Value:
        """Adds an operator with one output."""
        return self._source.add(op, *inputs, **attributes)

    def add_many(
        self, op: str, *inputs: Value, outputs: int, **attributes: Any
    ) -> tuple[Value, ...]:
        """Adds an operator with several outputs."""
        return self._source.add_many(op, *inputs, outputs=outputs, **attributes)


Parse = Callable[[Layer, GraphBuilder], Results | Mapping[str, Results]]
"""The function of a plug-in; it returns one output, several, or a mapping of Paddle's slots."""


@dataclass(frozen=True)
class OperatorParser:
    """The parser of a plug-in for layers of type `origin` in files of `framework`."""

    framework: str
    origin: str
    ops: tuple[str, ...]
    replaces: bool
    parse: Parse

    @property
    def place(self) -> str:
        """File and line of the function."""
        code = self.parse.__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    @property
    def plugin(self) -> plugins.Plugin | None:
        """The plug-in of the parser; None for a parser of a script."""
        return plugins.owner(self.parse.__module__)

    def error(self, what: str, hint: str, where: str = "") -> PluginError:
        """The exception for an error in the parser; `where` defaults to its place."""
        if self.plugin is None:
            return PluginError(what, where=where or self.place, hint=hint)
        return self.plugin.error(what, where or self.place, hint)

    def blamed(self) -> AbstractContextManager[None]:
        """A context whose errors are those of the plug-in, and warnings if it was only discovered;
        the errors of a script are always raised.
        """
        return plugins.isolated(self.plugin) if self.plugin else nullcontext()

    def __call__(self, source: ImportedLayer) -> Results | Mapping[str, Results]:
        """Handles a layer. PluginError for an exception inside the plug-in."""
        layer = Layer(source)
        try:
            results = self.parse(layer, GraphBuilder(source))
        except (TrimtabError, UnsupportedFormError):
            raise
        except Exception as error:  # from the plug-in's code
            what = f"{type(error).__name__}: {error} (in {source.where})"
            place = self.plugin.folder if self.plugin else Path(self.parse.__code__.co_filename)
            where = plugins.source_line(place, error)
            raise self.error(what, "fix the parser", where) from error
        if not isinstance(results, Value | np.ndarray | tuple | Mapping):
            what = f"it returned {type(results).__name__}, not a tensor (in {source.where})"
            raise self.error(what, "return the result of graph.add, or a tuple of results")
        for name in layer.unread():
            if not source.is_harmless(name):
                raise layer.unsupported(f"its parameter {name} is not known")
        return results


registered: list[OperatorParser] = []


def operator_parser(
    *, framework: str, origin: str, op: str | Sequence[str], replaces: bool = False
) -> Callable[[Parse], Parse]:
    """Registers the decorated function for layers of type `origin` in files of `framework`.

    `op`: the operator or operators that it adds. `replaces`: whether it replaces trimtab's own
    handler. PluginError for an unknown framework or operator.
    """

    def register(parse: Parse) -> Parse:
        ops = (op,) if isinstance(op, str) else tuple(op)
        parser = OperatorParser(framework, origin, ops, replaces, parse)
        if framework not in FRAMEWORKS:
            raise PluginError(
                f"there is no framework {framework!r}",
                where=parser.place,
                hint=f"one of {', '.join(FRAMEWORKS)}",
            )
        for name in ops:
            if name not in schema.operators():
                raise PluginError(
                    f"there is no operator {name!r}",
                    where=parser.place,
                    hint="add its schema to ops/ of the plug-in, or check the name",
                )
        registered.append(parser)
        return parse

    return register


def are_extended() -> bool:
    """Whether plug-ins or scripts of this process have added parsers or handlers."""
    return bool(foreign or parsers())


def note_foreign_handler() -> None:
    """Records that something outside of trimtab has added a handler."""
    foreign.append(True)


foreign: list[bool] = []


def parsers(framework: str = "") -> list[OperatorParser]:
    """All registered parsers, or those for `framework`, in the order of their registration."""
    plugins.modules("importers")
    return [parser for parser in registered if framework in ("", parser.framework)]
