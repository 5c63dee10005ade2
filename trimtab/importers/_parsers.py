"""Parsers of plug-ins: functions that make operators of a layer that trimtab does not know.

    from trimtab import GraphBuilder, Layer, operator_parser

    @operator_parser(framework="caffe", origin="Swirl", op="swirl")
    def parse(layer: Layer, graph: GraphBuilder):
        return graph.add("swirl", layer.x(0), factor=layer.float("factor", 2.0))

A parser may make one operator or many, of its plug-in and of trimtab's own, and returns the layer's
outputs. Parameters that it did not read are refused: they may change the result.
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
from trimtab.importers._handled_layer import HandledLayer, Place, Results
from trimtab.importers._layers import Array, UnsupportedFormError, Value
from trimtab.importers._parameters import Parameters

_HANDLERS = "_ops"  # how the packages of handlers end, one for each format
FRAMEWORKS = tuple(
    sorted(
        package.name.removesuffix(_HANDLERS)
        for package in pkgutil.iter_modules([str(Path(__file__).parent)])
        if package.name.endswith(_HANDLERS)
    )
)


class Layer(Parameters):
    """A layer of a file: its parameters, its operands, its weights.

    `name` and `type` are the file's; `source` is what handlers of this format see, for what is
    particular to it.
    """

    def __init__(self, source: HandledLayer) -> None:
        super().__init__(source.parameters(), source.where)
        self.source = source
        self.name, self.type = source.name, source.type

    def __len__(self) -> int:
        """Number of inputs."""
        return self.source.count()

    def x(self, place: Place = 0) -> Value:
        """An input as an operand, whose `shape` and `dtype` are known: by its number, or by what
        the format calls it (a slot of Paddle, a key of PNNX).
        """
        return self.source.x(place)

    def known(self, place: Place, what: str) -> Array:
        """The value of an input, which must be a constant; `what` is its role, for errors."""
        return self.source.known(place, what)

    def weights(self, place: Place, shape: Sequence[int], what: str) -> Array:
        """Weights of the layer, float32 of that shape (-1: any size, where the file says it): a
        Caffe layer's blob of that number, the next ones of an ncnn or Darknet file whatever the
        place, a PNNX module's of that name; else the constant input at `place`.
        """
        return self.source.stored_weights(place, shape, what)

    def unsupported(self, reason: str) -> UnsupportedFormError:
        """The exception to raise for a form of the layer that the parser cannot express."""
        return self.source.unsupported(reason)


class GraphBuilder:
    """Adds operators for a layer to the program. Shapes are checked at once, by the operators' own
    rules.
    """

    def __init__(self, source: HandledLayer) -> None:
        self._source = source
        self.constant = source.constant
        self.reshape = source.reshape
        self.transpose = source.transpose

    def add(self, op: str, *inputs: Value, **attributes: Any) -> Value:
        """An operator with one output."""
        return self._source.add(op, *inputs, **attributes)

    def add_many(
        self, op: str, *inputs: Value, outputs: int, **attributes: Any
    ) -> tuple[Value, ...]:
        """An operator with several outputs."""
        return self._source.add_many(op, *inputs, outputs=outputs, **attributes)


Parse = Callable[[Layer, GraphBuilder], Results | Mapping[str, Results]]
"""What a plug-in writes; it returns the layer's output, several, or in Paddle those of slots."""


@dataclass(frozen=True)
class OperatorParser:
    """A parser of a plug-in for the layers of type `origin` in files of `framework`."""

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
        """The plug-in that it is of; a script's is of none."""
        return plugins.owner(self.parse.__module__)

    def error(self, what: str, hint: str, where: str = "") -> PluginError:
        """What is wrong with it; `where`: its place unless given."""
        if self.plugin is None:
            return PluginError(what, where=where or self.place, hint=hint)
        return self.plugin.error(what, where or self.place, hint)

    def blamed(self) -> AbstractContextManager[None]:
        """Whatever is wrong inside is the fault of its plug-in, which may only have been found; of
        a script's it is always an error.
        """
        return plugins.isolated(self.plugin) if self.plugin else nullcontext()

    def __call__(self, source: HandledLayer) -> Results | Mapping[str, Results]:
        """The handler of a layer. PluginError for an exception of the plug-in's own."""
        layer = Layer(source)
        try:
            results = self.parse(layer, GraphBuilder(source))
        except (TrimtabError, UnsupportedFormError):
            raise
        except Exception as error:  # whatever the plug-in does
            what = f"{type(error).__name__}: {error} (in {source.where})"
            place = self.plugin.folder if self.plugin else Path(self.parse.__code__.co_filename)
            where = plugins.source_line(place, error)
            raise self.error(what, "mend the parser", where) from error
        if not isinstance(results, Value | np.ndarray | tuple | Mapping):
            what = f"it returned {type(results).__name__}, no operand (in {source.where})"
            raise self.error(what, "return what graph.add gives, or a tuple of these")
        for name in layer.unread():
            if not source.is_harmless(name):
                raise layer.unsupported(f"its parameter {name} is not known")
        return results


_found: list[OperatorParser] = []


def operator_parser(
    *, framework: str, origin: str, op: str | Sequence[str], replaces: bool = False
) -> Callable[[Parse], Parse]:
    """Registers the decorated function for layers of type `origin` in files of `framework`.

    `op`: the operator, or operators, that it makes. `replaces`: it takes the place of trimtab's own
    handler. PluginError for a framework or operator that does not exist.
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
                    hint="the plug-in's room ops/ has a schema for each of its own",
                )
        _found.append(parser)
        return parse

    return register


def parsers(framework: str = "") -> list[OperatorParser]:
    """The parsers of all plug-ins, or of those for files of `framework`, as they are found."""
    plugins.modules("importers")
    return [parser for parser in _found if framework in ("", parser.framework)]
