"""The structure of a Caffe network: its layers in a phase, and its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trimtab.errors import ImportModelError
from trimtab.importers.caffe_ops.prototxt import Message
from trimtab.importers.caffe_ops.spec import message_of

# Layer types of caffe.proto's V1LayerParameter by number: the V1 name and the current name.
_V1_TYPES: dict[int, tuple[str, str]] = {
    35: ("ABSVAL", "AbsVal"),
    1: ("ACCURACY", "Accuracy"),
    30: ("ARGMAX", "ArgMax"),
    2: ("BNLL", "BNLL"),
    3: ("CONCAT", "Concat"),
    37: ("CONTRASTIVE_LOSS", "ContrastiveLoss"),
    4: ("CONVOLUTION", "Convolution"),
    5: ("DATA", "Data"),
    39: ("DECONVOLUTION", "Deconvolution"),
    6: ("DROPOUT", "Dropout"),
    32: ("DUMMY_DATA", "DummyData"),
    7: ("EUCLIDEAN_LOSS", "EuclideanLoss"),
    25: ("ELTWISE", "Eltwise"),
    38: ("EXP", "Exp"),
    8: ("FLATTEN", "Flatten"),
    9: ("HDF5_DATA", "HDF5Data"),
    10: ("HDF5_OUTPUT", "HDF5Output"),
    28: ("HINGE_LOSS", "HingeLoss"),
    11: ("IM2COL", "Im2col"),
    12: ("IMAGE_DATA", "ImageData"),
    13: ("INFOGAIN_LOSS", "InfogainLoss"),
    14: ("INNER_PRODUCT", "InnerProduct"),
    15: ("LRN", "LRN"),
    29: ("MEMORY_DATA", "MemoryData"),
    16: ("MULTINOMIAL_LOGISTIC_LOSS", "MultinomialLogisticLoss"),
    34: ("MVN", "MVN"),
    17: ("POOLING", "Pooling"),
    26: ("POWER", "Power"),
    18: ("RELU", "ReLU"),
    19: ("SIGMOID", "Sigmoid"),
    27: ("SIGMOID_CROSS_ENTROPY_LOSS", "SigmoidCrossEntropyLoss"),
    36: ("SILENCE", "Silence"),
    20: ("SOFTMAX", "Softmax"),
    21: ("SOFTMAX_LOSS", "SoftmaxWithLoss"),
    22: ("SPLIT", "Split"),
    33: ("SLICE", "Slice"),
    23: ("TANH", "TanH"),
    24: ("WINDOW_DATA", "WindowData"),
    31: ("THRESHOLD", "Threshold"),
}

# Data layers; their tops are the inputs of the network.
DATA = frozenset(
    ("Data", "ImageData", "HDF5Data", "WindowData", "MemoryData", "AnnotatedData", "Input")
)

# Layers that evaluate or write results; their bottoms are outputs of the network.
_EVALUATIONS = frozenset(
    ("Accuracy", "DetectionEvaluate", "HDF5Output", "SoftmaxWithLoss", "MultiBoxLoss")
)

TRAIN, TEST = PHASES = "TRAIN", "TEST"


@dataclass(frozen=True)
class NetLayer:
    """A layer of the file, V1 or current."""

    message: Message
    name: str
    type: str
    bottoms: tuple[str, ...]
    tops: tuple[str, ...]

    @property
    def param(self) -> Message:
        """The parameters of its type; empty if they are absent."""
        return self.message.message(message_of(self.type))

    @property
    def title(self) -> str:
        """The name and type of the layer, for messages."""
        return f"layer '{self.name}' ({self.type})"

    @property
    def line(self) -> str:
        """The line of the layer in the file."""
        return self.message.where.rpartition(" ")[2]

    @property
    def where(self) -> str:
        """The place of the layer in the file, and its title."""
        return f"{self.message.where}: {self.title}"


@dataclass(frozen=True)
class NetInput:
    """An input; `shape` is empty if it is not declared."""

    name: str
    shape: tuple[int, ...]


def phase_of(net: Message) -> str:
    """The phase of the file's `state`, or TEST."""
    return net.message("state").choice("phase", PHASES, TEST)


def active(net: Message, phase: str) -> list[NetLayer]:
    """The layers that run in a phase."""
    layers = [_current(m, i) for i, m in enumerate(net.messages("layer"))]
    if not layers:
        layers = [_v1(m, i) for i, m in enumerate(net.messages("layers"))]
    state = net.message("state")
    return [layer for layer in layers if _runs(layer, state, phase)]


def layers(net: Message, phase: str) -> list[NetLayer]:
    """The layers that run in a phase, without evaluations and losses."""
    running = active(net, phase)
    silenced = {b for layer in running if layer.type == "Silence" for b in layer.bottoms}
    return [
        layer
        for layer in running
        if layer.type not in _EVALUATIONS
        and not layer.type.endswith("Loss")
        and layer.type != "Silence"
        and not (layer.type in DATA and set(layer.tops) <= silenced)
    ]


def silenced(net: Message) -> frozenset[str]:
    """The blobs of Silence layers, which are not outputs of the network."""
    layers = [*net.messages("layer"), *net.messages("layers")]
    return frozenset(
        b for m in layers if m.text("type").upper() in ("SILENCE", "36") for b in m.texts("bottom")
    )


def _current(message: Message, index: int) -> NetLayer:
    type = message.text("type")
    if not type:
        raise ImportModelError(
            f"layer {index} has no type", where=message.where, hint="add its type"
        )
    return _layer(message, type, index)


def _v1(message: Message, index: int) -> NetLayer:
    v1_type = message.text("type")
    if not v1_type or message.has("layer"):
        raise ImportModelError(
            f"layer {index} has the format before V1, or no type",
            where=message.where,
            hint="convert the network with Caffe's upgrade_net_proto_text",
        )
    for number, (v1, current) in _V1_TYPES.items():
        if v1_type in (v1, str(number)):
            return _layer(message, current, index)
    return _layer(message, v1_type, index)


def _layer(message: Message, type: str, index: int) -> NetLayer:
    name = message.text("name") or f"{type.lower()}_{index}"
    bottoms, tops = message.texts("bottom"), message.texts("top")
    return NetLayer(message, name, type, tuple(bottoms), tuple(tops))


def _runs(layer: NetLayer, state: Message, phase: str) -> bool:
    """Caffe's rule: with `include` rules, at least one holds; otherwise no `exclude` rule holds."""
    includes, excludes = layer.message.messages("include"), layer.message.messages("exclude")
    if includes and excludes:
        raise ImportModelError(
            "it has include and exclude rules",
            where=layer.where,
            hint="Caffe takes either: state where it is included",
        )
    if includes:
        return any(_holds(rule, state, phase) for rule in includes)
    return not any(_holds(rule, state, phase) for rule in excludes)


def _holds(rule: Message, state: Message, phase: str) -> bool:
    level, stages = state.integer("level", 0), set(state.texts("stage"))
    return (
        rule.choice("phase", PHASES, phase) == phase
        and rule.integer("min_level", level) <= level <= rule.integer("max_level", level)
        and stages.issuperset(rule.texts("stage"))
        and stages.isdisjoint(rule.texts("not_stage"))
    )


def inputs(net: Message, layers: list[NetLayer]) -> Iterator[NetInput]:
    """The declared inputs of the network, then the tops of its data layers that are used."""
    names = net.texts("input")
    shapes = [tuple(m.integers("dim")) for m in net.messages("input_shape")]
    dims = net.integers("input_dim")
    if not shapes:
        shapes = [tuple(dims[i : i + 4]) for i in range(0, len(dims), 4)]
    for i, name in enumerate(names):
        yield NetInput(name, shapes[i] if i < len(shapes) else ())
    used = {bottom for layer in layers for bottom in layer.bottoms}
    for layer in layers:
        if layer.type in DATA:
            for top, shape in zip(layer.tops, _shapes(layer), strict=True):
                if top in used or layer.type == "Input":
                    yield NetInput(top, shape)


def _shapes(layer: NetLayer) -> list[tuple[int, ...]]:
    """The shape of each top of a data layer; empty if it is not declared."""
    result: list[tuple[int, ...]] = [()] * len(layer.tops)
    if layer.type == "Input":
        shapes = [tuple(m.integers("dim")) for m in layer.param.messages("shape")]
        if len(shapes) == 1:
            return shapes * len(layer.tops)
        return [shapes[i] if i < len(shapes) else () for i in range(len(layer.tops))]
    if layer.type == "MemoryData" and result:
        names = ("batch_size", "channels", "height", "width")
        result[0] = tuple(layer.param.integer(name, 0) for name in names)
    return result
