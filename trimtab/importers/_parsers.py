"""Parsers of plug-ins: functions that make operators of a layer that trimtab does not know.

    from trimtab import GraphBuilder, Layer, operator_parser

    @operator_parser(framework="caffe", origin="Swirl", op="swirl")
    def parse(layer: Layer, graph: GraphBuilder):
        return graph.add("swirl", layer.x(0), factor=layer.float("factor", 2.0))

A parser may make one operator or many, of its plug-in and of trimtab's own, and returns the layer's
outputs. Parameters that it did not read are refused: they may change the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab import plugins, schema
from trimtab.errors import PluginError, TrimtabError
from trimtab.importers._handled_layer import HandledLayer, Results
from trimtab.importers._layers import Array, UnsupportedFormError, Value
from trimtab.importers._parameters import Parameters

FRAMEWORKS = ("caffe", "darknet", "ncnn", "onnx", "paddle", "pnnx", "tflite")


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

    def x(self, i: int = 0) -> Value:
        """Input `i` as an operand; its `shape` and `dtype` are known."""
        return self.source.x(i)

    def known(self, i: int, what: str) -> Array:
        """The value of input `i`, which must be a constant; `what` is its role, for errors."""
        return self.source.known(i, what)

    def weights(self, i: int, shape: Sequence[int], what: str) -> Array:
        """Weights of the layer, float32 of that shape: blob `i` of a Caffe layer, the next ones of
        an ncnn or Darknet layer, else the constant input `i`.
        """
        return self.source.stored_weights(i, shape, what)

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


Parse = Callable[[Layer, GraphBuilder], Results]


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

    def __call__(self, source: HandledLayer) -> Results:
        """The handler of a layer. PluginError for an exception of the plug-in's own."""
        layer = Layer(source)
        try:
            results = self.parse(layer, GraphBuilder(source))
        except (TrimtabError, UnsupportedFormError):
            raise
        except Exception as error:  # whatever the plug-in does
            plugin = plugins.owner(self.parse.__module__)
            what = f"{type(error).__name__}: {error} (in {source.where})"
            if plugin is None:
                raise PluginError(what, where=self.place, hint="mend the parser") from error
            raise plugin.error(what, plugins.line_of(plugin, error), "mend its parser") from error
        for name in layer.unread():
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
