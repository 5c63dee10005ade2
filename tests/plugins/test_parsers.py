"""A user's parser for a layer of each format: parameters, operands, weights, conflicts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers import caffe_writer, registered_parsers
from tests.plugins import layers
from tests.plugins.layers import FRAMEWORKS
from trimtab import GraphBuilder, Layer, errors, operator_parser
from trimtab.plugin_kit import example_models

ORIGINS = {"onnx": "my.domain.Swirl", "tflite": "custom Swirl"}
CONVOLUTIONS = {
    "caffe": "Convolution",
    "darknet": "convolutional",
    "ncnn": "Convolution",
    "onnx": "Conv",
    "paddle": "conv2d",
    "pnnx": "nn.Conv2d",
    "tflite": "CONV_2D",
}
EVERY = pytest.mark.parametrize("framework", FRAMEWORKS)


forgotten = registered_parsers.forgotten  # lets parsers end with their test


def origin(framework: str) -> str:
    return ORIGINS.get(framework, "swirl" if framework == "darknet" else "Swirl")


def picture() -> np.ndarray:
    return caffe_writer.random(*layers.SHAPE, seed=3)


def computed(path: Path, framework: str) -> np.ndarray:
    """The engine's output for the picture [1, 3, 4, 5]; TFLite's are [1, 4, 5, 3]."""
    x = picture()
    program = trimtab.load(path)
    fed = np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if framework == "tflite" else x
    (y,) = trimtab.Session(program).run({program.inputs[0]: fed}).values()
    return y.transpose(0, 3, 1, 2) if framework == "tflite" else y


def swirl(framework: str, read: Callable[[Layer], float] = lambda _: 2.0) -> None:
    """Registers a parser that makes two operators: factor * x + factor."""

    @operator_parser(framework=framework, origin=origin(framework), op=("mul", "add"))
    def parse(layer: Layer, graph: GraphBuilder) -> Any:
        factor = graph.constant(read(layer), "factor")
        return graph.add("add", graph.add("mul", layer.x(0), factor), factor)


@EVERY
def test_the_model_that_a_new_plug_in_has_to_try_is_read_by_its_own_parser(
    framework: str, tmp_path: Path
) -> None:
    type, name = origin(framework), "0" if framework == "ncnn" else "factor"
    swirl(framework, lambda layer: layer.float(int(name) if name.isdigit() else name))
    path = example_models.write(framework, tmp_path, type, name)
    program = trimtab.load(path)
    (shape,) = (program.vars[x].shape for x in program.inputs)
    assert sorted(shape) == [1, 3, 16, 16]
    x = np.linspace(-2, 2, 768, dtype=np.float32).reshape(shape)
    (y,) = trimtab.Session(program).run({program.inputs[0]: x}).values()
    np.testing.assert_array_equal(y, x * 2.5 + 2.5)


@EVERY
def test_a_layer_becomes_two_operators_with_every_kind_of_parameter(
    framework: str, tmp_path: Path
) -> None:
    def read(layer: Layer) -> float:
        names = {name: layers.name(framework, name) for name in layers.NUMBERS}
        assert layer.int(names["count"]) == 7
        assert layer.float(names["ratio"]) == layers.RATIO
        assert layer.int(names["seed"]) == layers.SEED
        assert layer.floats(names["offsets"]) == [0.5, -1.5]
        assert layer.enum(names["mode"], ("narrow", "wide")) == "wide"
        assert layer.json(names["table"]) == {"a": [1, 2]}
        actual = [
            {"offset": b.float("offset"), "width": b.ints("width")}
            for b in layer.messages(names["bands"])
        ]
        assert actual == layers.bands(framework)
        assert layer.float(99 if framework == "ncnn" else "absent", 2.5) == 2.5
        assert not layer.has(99 if framework == "ncnn" else "absent")
        assert len(layer) == 1
        return 2.5

    swirl(framework, read)
    parameters = layers.every_parameter(framework)
    path = layers.write(framework, tmp_path, origin(framework), parameters)
    assert [op.type for op in trimtab.load(path).ops] == ["mul", "add"]
    expected = np.float32(2.5) * picture() + np.float32(2.5)
    np.testing.assert_allclose(computed(path, framework), expected, rtol=1e-6)


@EVERY
def test_a_missing_parameter_or_one_of_another_type_is_an_error(
    framework: str, tmp_path: Path
) -> None:
    requested = "count"
    swirl(framework, lambda layer: layer.int(layers.name(framework, requested)))
    path = layers.write(framework, tmp_path, origin(framework), {"mode": "wide"})
    key = layers.name(framework, "count")
    with pytest.raises(errors.ImportModelError, match=f"it lacks the parameter {key}"):
        trimtab.load(path)
    requested = "mode"
    key = layers.name(framework, "mode")
    with pytest.raises(errors.ImportModelError, match=f"its parameter {key} is .*, not a whole"):
        trimtab.load(path)


@EVERY
def test_an_unread_parameter_is_refused(framework: str, tmp_path: Path) -> None:
    swirl(framework)
    path = layers.write(framework, tmp_path, origin(framework), {"count": 7})
    key = layers.name(framework, "count")
    with pytest.raises(errors.UnsupportedOperatorError, match=f"its parameter {key} is not known"):
        trimtab.load(path)


def doubled(framework: str, replaces: bool = True) -> None:
    """Registers a parser for the format's convolution that doubles its result."""
    places: dict[str, int | str] = {"onnx": 1, "tflite": 1, "paddle": "Filter", "pnnx": "weight"}

    @operator_parser(
        framework=framework,
        origin=CONVOLUTIONS[framework],
        op=("conv", "mul", "transpose"),
        replaces=replaces,
    )
    def parse(layer: Layer, graph: GraphBuilder) -> Any:
        filters = layer.int(0 if framework == "ncnn" else "filters", 2)
        last, place = framework == "tflite", places.get(framework, 0)
        x = layer.x("Input" if framework == "paddle" else 0)
        x = graph.transpose(x, (0, 3, 1, 2)) if last else x
        shape = (filters, 1, 1, 3) if last else (filters, 3, 1, 1)
        w = layer.weights(place, shape, "weights")
        if last:
            assert (layer.int("stride_w"), layer.int("stride_h")) == (1, 1)
            for name in ("padding", "dilation_w_factor", "dilation_h_factor"):
                layer.int(name)
            assert layer.int("fused_activation_function") == layer.int("quantized_bias_type") == 0
            w = np.ascontiguousarray(w.transpose(0, 3, 1, 2))
        y = graph.add("conv", x, graph.constant(w, "w"))
        y = graph.add("mul", y, graph.constant(2.0, "two"))
        return graph.transpose(y, (0, 2, 3, 1)) if last else y


def convolution(framework: str, folder: Path) -> Path:
    parameters: dict[str, dict[str, object]] = {
        "tflite": {"StrideW": 1, "StrideH": 1},
        "ncnn": {"0": 2},
        "darknet": {"filters": 2},
    }
    own = parameters.get(framework, {})
    return layers.write(framework, folder, CONVOLUTIONS[framework], own, weighted=True)


@EVERY
def test_the_convolution_of_a_format_can_be_replaced_with_its_weights(
    framework: str, tmp_path: Path
) -> None:
    doubled(framework)
    y = computed(convolution(framework, tmp_path), framework)
    np.testing.assert_allclose(y, 2 * layers.convolved(picture()), rtol=1e-5, atol=1e-6)


@EVERY
def test_a_replacement_without_replaces_is_an_error_with_both_places(
    framework: str, tmp_path: Path
) -> None:
    doubled(framework, replaces=False)
    path = convolution(framework, tmp_path)
    for _ in range(2):  # and stays one
        with pytest.raises(errors.PluginError) as caught:
            trimtab.load(path)
        assert f"trimtab.importers.{framework}_ops.convolution" in str(caught.value)
        assert f"{__file__}:" in str(caught.value)
        assert "replaces=True" in str(caught.value)


def test_two_parsers_of_one_layer_are_an_error_with_both_places(tmp_path: Path) -> None:
    path = layers.write("onnx", tmp_path, origin("onnx"), {})
    swirl("onnx")
    assert len(trimtab.load(path).ops) == 2
    swirl("onnx")  # after models were loaded
    with pytest.raises(errors.PluginError) as caught:
        trimtab.load(path)
    assert str(caught.value).count(f"{__file__}:") == 2


def test_a_replacement_of_nothing_is_an_error(tmp_path: Path) -> None:
    @operator_parser(framework="onnx", origin="Cnov", op="neg", replaces=True)
    def parse(layer: Layer, graph: GraphBuilder) -> Any:
        return graph.add("neg", layer.x(0))

    with pytest.raises(errors.PluginError, match="'Cnov' of onnx has no handler to replace"):
        trimtab.load(layers.write("onnx", tmp_path, "Relu", {}))


@EVERY
def test_a_parser_that_is_registered_late_is_used(framework: str, tmp_path: Path) -> None:
    path = layers.write(framework, tmp_path, origin(framework), {})
    with pytest.raises(errors.UnsupportedOperatorError):
        trimtab.load(path)
    swirl(framework)
    assert len(trimtab.load(path).ops) == 2


def test_missing_weights_and_inputs_are_errors(tmp_path: Path) -> None:
    requested: list[Callable[[Layer], object]] = []

    @operator_parser(framework="pnnx", origin="Swirl", op="neg")
    def parse(layer: Layer, graph: GraphBuilder) -> Any:
        requested[-1](layer)
        return graph.add("neg", layer.x(0))

    path = layers.write("pnnx", tmp_path, "Swirl", {})
    for ask, messages in [
        (lambda layer: layer.weights("weight", (2, 3), "weights"), "operand or weights 'weight'"),
        (lambda layer: layer.x("mask"), "operand or weights 'mask'"),
        (lambda layer: layer.x(1), "input 1 is missing"),
        (lambda layer: layer.known(0, "mask"), "its mask must be constant"),
    ]:
        requested.append(ask)
        with pytest.raises(errors.TrimtabError, match=messages):
            trimtab.load(path)


def test_a_parser_that_returns_nothing_or_fails_is_named_with_its_line(tmp_path: Path) -> None:
    path = layers.write("caffe", tmp_path, "Swirl", {})

    @operator_parser(framework="caffe", origin="Swirl", op="neg")
    def parse(layer: Layer, graph: GraphBuilder) -> Any:
        graph.add("neg", layer.x(0))
        return {0: None}[result[-1]]

    result = [0]
    with pytest.raises(errors.PluginError, match="it returned NoneType") as caught:
        trimtab.load(path)
    assert caught.value.where.startswith(f"{__file__}:")
    result = [0, 1]
    with pytest.raises(errors.PluginError, match="KeyError") as caught:
        trimtab.load(path)
    first = parse.__code__.co_firstlineno  # of the decorator
    assert caught.value.where == f"{__file__}:{first + 3}"


def test_unknown_fields_in_a_binary_caffe_model_are_ignored(tmp_path: Path) -> None:
    """The text says the parameters; of the binary form only the blobs are read."""
    doubled("caffe")
    path = convolution("caffe", tmp_path)
    binary = path.with_suffix(".caffemodel")
    fork = caffe_writer.field(147, caffe_writer.field(1, caffe_writer.field(3, b"band")))
    strange = caffe_writer.field(100, caffe_writer.field(1, b"other") + fork)
    binary.write_bytes(strange + binary.read_bytes())
    y = computed(path, "caffe")
    np.testing.assert_allclose(y, 2 * layers.convolved(picture()), rtol=1e-5, atol=1e-6)
