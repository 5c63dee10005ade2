"""ncnn networks: a .param (text) with its .bin.

`trimtab.importers.ncnn_ops` turns layers into operators. Layers and their parameters are those of
https://github.com/Tencent/ncnn/blob/master/docs/developer-guide/operators.md. Programs have the
batch that ncnn lacks: a blob [c, h, w] is a tensor [1, c, h, w].
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.errors import DynamicShapeError, ImportModelError, ModelFileError
from trimtab.importers._layers import LayerImport, Value, companion, read_text
from trimtab.importers.ncnn_ops import handlers
from trimtab.importers.ncnn_ops.layer import Layer
from trimtab.importers.ncnn_ops.param import MAGIC, LayerText, parse
from trimtab.importers.ncnn_ops.weights import Weights
from trimtab.program import Program, Var

if TYPE_CHECKING:
    from trimtab.importers import Shapes

SUFFIXES = (".param", ".bin")

LIMIT_BYTES = 2**23  # of a .param; large transformers have 200 KB

SUPPORTED = "docs/importers.md lists what is supported"


def sniff(path: Path) -> bool:
    """Text that begins with the magic number; PNNX has the same, and its own operators."""
    try:
        with path.open("rb") as file:
            head = file.read(2**10)
    except OSError:
        return False
    return head.split(b"\n")[0].strip() == MAGIC.encode() and b"pnnx." not in head


def load(path: Path, inputs: Shapes) -> Program:
    """The program of the network at `path`, or of the one beside the weights at `path`.

    Given shapes have a batch of 1 in front. Errors as `trimtab.importers.Importer` lists them.
    """
    text, binary = _pair(path)
    layers = parse(read_text(text, LIMIT_BYTES), str(text))
    return _Walk(text, layers, Weights(binary)).run(inputs)


def _pair(path: Path) -> tuple[Path, Path | None]:
    """Network and weights."""
    if path.suffix != ".bin":
        return path, companion(path, ".bin", lambda p: not p.name.endswith(".param.bin"))
    if path.name.endswith(".param.bin"):
        raise ModelFileError(
            "is the binary form of a network, which lacks names",
            where=str(path),
            hint="give the text form, which ends with .param",
        )
    if text := companion(path, ".param", sniff):
        return text, path
    raise ModelFileError(
        "has no .param beside it, which describes the network",
        where=str(path),
        hint=f"put it there under the name {path.stem}.param",
    )


class _Walk:
    """Layers in their order, and what is known of every blob."""

    def __init__(self, path: Path, layers: list[LayerText], weights: Weights) -> None:
        self.path = path
        self.layers = layers
        self.weights = weights
        self.work = LayerImport(path, len(layers))
        # Results by blob; None: not supported.
        self.values: dict[str, Value | None] = {}

    def run(self, inputs: Shapes) -> Program:
        """The program; its outputs are the blobs that no layer reads."""
        declared = [top for layer in self.layers if layer.type == "Input" for top in layer.tops]
        if unknown := sorted(set(inputs) - set(declared)):
            raise ImportModelError(
                f"there is no input {', '.join(map(repr, unknown))}",
                where=str(self.path),
                hint=f"its inputs are: {', '.join(declared) or 'none'}",
            )
        read = {name for layer in self.layers for name in layer.bottoms}
        ends: list[str] = []
        for layer in self.layers:
            # The last line of a network may be one that does nothing but to read all results.
            if layer.type == "Noop" and read.isdisjoint(layer.tops):
                ends += layer.bottoms
                continue
            self._add(layer, inputs)
            ends += [top for top in layer.tops if top not in read]
        self._check_defined(ends)
        outputs = [(name, self.values[name]) for name in dict.fromkeys(ends)]
        if not outputs:
            raise ImportModelError("it has no outputs", where=str(self.path))
        return self.work.finish([(n, v) for n, v in outputs if v is not None], SUPPORTED)

    def _check_defined(self, names: list[str], where: str = "") -> None:
        for name in names:
            if name not in self.values:
                raise ImportModelError(
                    f"blob '{name}' is not defined", where=where or str(self.path)
                )

    def _add(self, text: LayerText, inputs: Shapes) -> None:
        self._check_defined(text.bottoms, text.where)
        for top in text.tops:
            if top in self.values:
                raise ImportModelError(f"blob '{top}' is defined twice", where=text.where)
        self.values.update(dict.fromkeys(text.tops))
        if text.type == "Input":
            for top in text.tops:
                self.values[top] = self._add_input(text, top, inputs)
            return
        handler = handlers().get(text.type)
        bottoms = [v for name in text.bottoms if (v := self.values[name]) is not None]
        layer = Layer(self.work, text, bottoms, self.weights)
        title = f"'{text.name}' ({text.type}), line {text.line}"
        with self.work.layer(title, text.where):
            if handler is None or len(bottoms) < len(text.bottoms):
                # How many weights it has is only known with the shapes that it reads.
                self.weights.lose()
            if handler is None:
                raise layer.unsupported("the engine has no such operator")
            if len(bottoms) < len(text.bottoms):
                return
            first_op = len(self.work.program.ops)
            values = handler(layer)
            layer.check_unread()
            values = [values] if isinstance(values, Var) else list(values)
            if len(values) != len(text.tops):
                raise layer.invalid(f"it has {len(text.tops)} outputs, not {len(values)}")
            self._bind(text.tops, values, first_op)

    def _bind(self, tops: list[str], values: list[Value], first_op: int) -> None:
        """Gives the layer's results their values, and new operands the names of their blobs."""
        made = {name for op in self.work.program.ops[first_op:] for name in op.outputs}
        for top, value in zip(tops, values, strict=True):
            if value.name in made:
                made.discard(value.name)
                self.work.rename(value, top, first_op)
            self.values[top] = value

    def _add_input(self, text: LayerText, name: str, inputs: Shapes) -> Value:
        w, h, d, c = (text.integer(key, 0) for key in (0, 1, 11, 2))
        declared = (1, *(n for n in (c, d, h, w) if n))
        shape = tuple(inputs.get(name, declared))
        if len(shape) < 2:
            raise DynamicShapeError(
                f"input '{name}' has free dimensions",
                where=text.where,
                hint=f"give its shape: inputs={{'{name}': (1, 3, 224, 224)}} in Python,"
                f" {name}=1,3,224,224 on the command line",
            )
        if shape[0] != 1 or len(shape) > 5:
            raise ImportModelError(
                f"input '{name}' cannot have the shape {list(shape)}",
                where=text.where,
                hint="networks of ncnn are for one image: give a batch of 1",
            )
        return self.work.add_input(name, shape)
