"""int8 twins of ncnn models, as ncnn's tools ncnn2table and ncnn2int8 make them, which its Python
package lacks: those that cannot read QDQ files are compared on integers of their own.

    python ncnn_int8.py REAL TWIN PICTURES

REAL and TWIN: models without their suffixes .param and .bin; PICTURES: an .npz with an array
[n, ...] for each input, in order. Convolutions, depthwise ones and inner products get int8 weights
with a scale for each output channel (3x3 with strides of 1: 6 bits, as ncnn2table has them for its
Winograd), and inputs with the scale of their largest magnitude in the pictures. Where all that read
a result are convolutions it stays in integers. A script of the interpreter that has ncnn; it
imports no trimtab.

Source: ncnn's tools/quantize and the `load_model` of these layers.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_INT8 = 0x000D4B38  # the flag in front of weights of that type
_STAYS = 100  # added to int8_scale_term where the result stays in integers
_CONVOLUTIONS = ("Convolution", "ConvolutionDepthWise")


@dataclass
class Layer:
    """A line of a .param file; `parameters`: as they stand behind the blobs."""

    type: str
    name: str
    inputs: list[str]
    outputs: list[str]
    parameters: list[str]

    def number(self, key: int, default: int = 0) -> int:
        """The parameter of that number."""
        found = [p.partition("=")[2] for p in self.parameters if p.startswith(f"{key}=")]
        return int(found[0]) if found else default

    @property
    def is_product(self) -> bool:
        """Whether it is one of those that are quantized."""
        return self.type in (*_CONVOLUTIONS, "InnerProduct")

    @property
    def weights(self) -> int:
        """Elements."""
        return self.number(2 if self.type == "InnerProduct" else 6)

    @property
    def bias(self) -> int:
        """Elements."""
        has_bias = self.number(1 if self.type == "InnerProduct" else 5)
        return self.number(0) if has_bias else 0

    @property
    def largest(self) -> int:
        """The integer of the largest weight."""
        plain = [self.number(1), self.number(11, self.number(1)), self.number(3, 1)]
        winograd = [*plain, self.number(13, self.number(3, 1))] == [3, 3, 1, 1]
        return 31 if self.type == "Convolution" and winograd else 127

    def line(self) -> str:
        """As it stands in the file."""
        counts = f"{len(self.inputs)} {len(self.outputs)}"
        words = [*self.inputs, *self.outputs, *self.parameters]
        return f"{self.type:<24} {self.name:<24} {counts} {' '.join(words)}"


def parse(text: str) -> tuple[list[str], list[Layer]]:
    """The two lines in front of the layers, and these."""
    head, lines = text.splitlines()[:2], text.splitlines()[2:]
    layers = []
    for words in (line.split() for line in lines if line.strip()):
        begin, middle = 4, 4 + int(words[2])
        end = middle + int(words[3])
        layers.append(
            Layer(words[0], words[1], words[begin:middle], words[middle:end], words[end:])
        )
    return head, layers


def quantize(layers: Sequence[Layer], data: bytes, largest: dict[str, float]) -> bytes:
    """The twin's weights of those of real numbers, `data`; `layers` become the twin's. `largest`:
    magnitudes of blobs. ValueError where other layers have weights, which lie between.
    """
    readers: dict[str, list[Layer]] = {}
    for layer in layers:
        for blob in layer.inputs:
            readers.setdefault(blob, []).append(layer)
    scales = {layer.name: _scale(largest[layer.inputs[0]]) for layer in layers if layer.is_product}
    made: list[bytes] = []
    place = 0

    def take(count: int) -> Array:
        nonlocal place
        if place + 4 * count > len(data):
            raise ValueError("its weights are not those of convolutions and inner products alone")
        found = np.frombuffer(data, np.float32, count, place)
        place += 4 * count
        return found

    for layer in layers:
        if not layer.is_product:
            continue
        if take(1).view(np.uint32)[0] != 0:
            raise ValueError(f"the weights of {layer.name} are no float32")
        channels = layer.number(7, 1) if layer.type == _CONVOLUTIONS[1] else layer.number(0)
        w, bias = take(layer.weights).reshape(channels, -1), take(layer.bias)
        of_weights = np.array([_scale(np.abs(row).max(), layer.largest) for row in w], np.float32)
        integers = np.rint(w * of_weights[:, None]).clip(-127, 127).astype(np.int8).tobytes()
        integers += b"\0" * (-len(integers) % 4)
        ends = [np.float32(scales[layer.name])]
        term = 1 if layer.type == _CONVOLUTIONS[1] else 2
        following = _following(layer.outputs[0], readers)
        if layer.type in _CONVOLUTIONS and following:
            ends.append(np.float32(scales[following[0].name]))
            term += _STAYS
        layer.parameters.append(f"8={term}")
        made += [np.uint32(_INT8).tobytes(), integers, bias.tobytes(), of_weights.tobytes()]
        made.append(np.array(ends, np.float32).tobytes())
    if place != len(data):
        raise ValueError("other layers than convolutions and inner products have weights")
    return b"".join(made)


def _following(blob: str, readers: dict[str, list[Layer]]) -> list[Layer]:
    """What reads a blob, behind a split, too, if these are convolutions alone."""
    found = readers.get(blob, [])
    if len(found) == 1 and found[0].type == "Split":
        found = [layer for part in found[0].outputs for layer in readers.get(part, [])]
    return found if all(layer.type in _CONVOLUTIONS for layer in found) else []


def _scale(largest: float, integer: int = 127) -> float:
    return integer / float(largest) if largest > 0 else 1.0


def magnitudes(real: Path, layers: Sequence[Layer], pictures: Sequence[Array]) -> dict[str, float]:
    """The largest magnitude, in all pictures, of what is multiplied, by blob."""
    ncnn = importlib.import_module("ncnn")
    net = ncnn.Net()
    net.opt.use_vulkan_compute = False
    net.opt.lightmode = False  # keeps what several ask for
    net.load_param(f"{real}.param")
    net.load_model(f"{real}.bin")
    blobs = {layer.inputs[0] for layer in layers if layer.is_product}
    found = dict.fromkeys(blobs, 0.0)
    for given in zip(*pictures, strict=True):
        extractor = net.create_extractor()
        for index, picture in enumerate(given):
            extractor.input(f"in{index}", ncnn.Mat(picture[0]).clone())
        for blob in blobs:
            value = np.asarray(extractor.extract(blob)[1])
            found[blob] = max(found[blob], float(np.abs(value).max(initial=0)))
    return found


def main(real: Path, twin: Path, archive: Path) -> None:
    """Writes the twin."""
    head, layers = parse(Path(f"{real}.param").read_text())
    with np.load(archive) as arrays:
        pictures = [arrays[name] for name in arrays.files]
    largest = magnitudes(real, layers, pictures)
    data = quantize(layers, Path(f"{real}.bin").read_bytes(), largest)
    text = "\n".join([*head, *(layer.line() for layer in layers)]) + "\n"
    for suffix, content in ((".bin", data), (".param", text.encode())):
        part = Path(f"{twin}{suffix}.part")
        np.frombuffer(content, np.uint8).tofile(part)
        part.replace(f"{twin}{suffix}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
