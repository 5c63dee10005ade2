"""Caffe networks: a .prototxt (text) with its .caffemodel (weights).

Layers and parameters are those of caffe.proto, V1 and current, with the additions of the SSD fork;
`trimtab.importers.caffe_ops` turns layers into operators. Layer catalogue:
https://caffe.berkeleyvision.org/tutorial/layers.html.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trimtab.errors import DynamicShapeError, ImportModelError, ModelFileError
from trimtab.importers._layers import Array, LayerImport, Value, companion, read_text
from trimtab.importers.caffe_ops import handlers, net, prototxt, weights
from trimtab.importers.caffe_ops.layer import Layer
from trimtab.program import Program

if TYPE_CHECKING:
    from trimtab.importers import Shapes

SUFFIXES = (".prototxt", ".caffemodel")

LIMIT_BYTES = 2**22  # of a network as text; Inception-ResNet has 0.4 MB

SUPPORTED = "docs/importers.md lists what is supported; export the network without these layers"


def sniff(path: Path) -> bool:
    """Text with a layer in it. Weights alone say nothing that other formats do not."""
    try:
        text = path.open("rb").read(2**16).decode("ascii", errors="replace")
    except OSError:
        return False
    return any(
        line.split("#")[0].replace(":", "").replace(" ", "").startswith(("layer{", "layers{"))
        for line in text.splitlines()
    )


def load(path: Path, inputs: Shapes) -> Program:
    """The program of the network at `path`, or of the one beside the weights at `path`.

    Without a .caffemodel a network without weights is a program, too. Given shapes replace those
    that the network declares. Errors as `trimtab.importers.Importer` lists them.
    """
    text, binary = _pair(path)
    message = prototxt.parse(read_text(text, LIMIT_BYTES), str(text))
    layers = net.layers(message)
    if not layers:
        raise ModelFileError(
            "is not a Caffe network: it has no layers",
            where=str(path),
            hint="give the .prototxt of the network; a solver's is not one",
        )
    blobs = weights.read(binary) if binary else {}
    return _Walk(text, message, layers, blobs).run(inputs)


def _pair(path: Path) -> tuple[Path, Path | None]:
    """Network and weights."""
    if path.suffix != ".caffemodel":
        return path, companion(path, ".caffemodel", lambda _: True)
    if text := companion(path, ".prototxt", _is_deployed):
        return text, path
    raise ModelFileError(
        "has no .prototxt beside it, which describes the network",
        where=str(path),
        hint=f"put it there under the name {path.stem}.prototxt",
    )


def _is_deployed(path: Path) -> bool:
    """Whether a .prototxt beside weights can be their network: not a solver, not for training."""
    return sniff(path) and "train" not in path.stem and "solver" not in path.stem


class _Walk:
    """Layers in their order; blobs are known by name, and in-place layers take a name over."""

    def __init__(
        self,
        path: Path,
        message: prototxt.Message,
        layers: list[net.NetLayer],
        blobs: dict[str, list[Array]],
    ) -> None:
        self.path = path
        self.message = message
        self.layers = layers
        self.blobs = blobs
        self.work = LayerImport(path, len(layers))
        # None: made by a layer that is not supported.
        self.values: dict[str, Value | None] = {}
        self.masks: dict[str, dict[str, Any]] = {}
        # Blobs that nobody has read yet.
        self.results: dict[str, None] = {}
        self.used = frozenset(bottom for layer in layers for bottom in layer.bottoms)

    def run(self, shapes: Shapes) -> Program:
        """The program."""
        self._add_inputs(shapes)
        for layer in self.layers:
            if layer.type not in net.DATA:
                self._add(layer)
        hidden = net.silenced(self.message)
        outputs = [(name, self.values[name]) for name in self.results if name not in hidden]
        known = [(name, value) for name, value in outputs if value is not None]
        program = self.work.finish(known, SUPPORTED)
        if not program.outputs:
            raise ImportModelError("it computes nothing", where=str(self.path))
        return program

    def _add_inputs(self, shapes: Shapes) -> None:
        declared = {i.name: i.shape for i in net.inputs(self.message, self.layers)}
        if unknown := sorted(set(shapes) - set(declared)):
            raise ImportModelError(
                f"there is no input {', '.join(map(repr, unknown))}",
                where=str(self.path),
                hint=f"its inputs are: {', '.join(declared) or 'none'}",
            )
        for name, shape in declared.items():
            wanted = tuple(shapes.get(name, shape))
            if not wanted or min(wanted) < 1:
                raise DynamicShapeError(
                    f"input '{name}' has the shape {list(shape) or '[unknown]'}",
                    where=str(self.path),
                    hint=f"give its shape: inputs={{'{name}': (1, 3, 224, 224)}} in Python,"
                    f" {name}=1,3,224,224 on the command line",
                )
            self.values[name] = self.work.add_input(name, wanted)

    def _add(self, layer: net.NetLayer) -> None:
        for bottom in layer.bottoms:
            if bottom not in self.values:
                raise ImportModelError(
                    f"its bottom '{bottom}' is not defined",
                    where=layer.where,
                    hint="a network for training may lack inputs in the TEST phase: give the one"
                    " for deployment",
                )
            self.results.pop(bottom, None)
        operands = [self.values[bottom] for bottom in layer.bottoms]
        tops: list[Value | None] = [None] * len(layer.tops)
        handler = handlers().get(layer.type)
        with self.work.layer(f"{layer.title}, line {layer.line}", layer.where):
            known = [value for value in operands if value is not None]
            blobs = self.blobs.get(layer.name, ())
            view = Layer(self.work, layer, known, blobs, self.masks)
            if handler is None:
                raise view.unsupported("the engine has no such operator")
            if layer.type != "Upsample" and self.masks.keys() & set(layer.bottoms):
                raise view.unsupported("it reads where a pool found its maxima")
            if len(known) == len(operands):
                values = handler(view)
                view.check_unread()
                made = [values] if isinstance(values, Value) else list(values)
                if missing := [top for top in layer.tops[len(made) :] if top in self.used]:
                    raise view.unsupported(f"it does not make its top '{missing[0]}'")
                tops = [*made, *tops][: len(tops)]
        for name, value in zip(layer.tops, tops, strict=True):
            self.values[name] = value
            if name not in self.masks:
                self.results[name] = None
