"""Caffe's solvers: every field, its default, and what is refused."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

import trimtab
from trimtab.errors import ImportModelError, ModelFileError
from trimtab.learning import caffe_solver as solver

# The solvers of Caffe's examples, shortened.
LENET = """
net: "examples/mnist/lenet_train_test.prototxt"  # relative to Caffe's folder
test_iter: 100 test_interval: 500
base_lr: 0.01 momentum: 0.9 weight_decay: 0.0005
lr_policy: "inv" gamma: 0.0001 power: 0.75
display: 100 max_iter: 10000 snapshot: 5000 snapshot_prefix: "lenet"
solver_mode: CPU
"""
CIFAR = """
train_net: "train.prototxt" test_net: "test.prototxt" test_iter: 100
base_lr: 1e-3 momentum: 0.95 momentum2: 0.99 delta: 1e-7 type: "Adam"
lr_policy: "multistep" gamma: 0.1 stepvalue: 60000 stepvalue: 65000
weight_decay: 0.004 regularization_type: "L1" clip_gradients: 35 iter_size: 4 random_seed: 7
snapshot_format: HDF5 snapshot_after_train: false weights: "a.caffemodel" average_loss: 20
"""


def read(folder: Path, text: str) -> solver.CaffeSolver:
    path = folder / "solver.prototxt"
    path.write_text(text)
    return solver.read(path)


def test_a_solver_is_read_with_its_defaults(tmp_path: Path) -> None:
    lenet = read(tmp_path, LENET)
    assert lenet == solver.CaffeSolver(
        network="examples/mnist/lenet_train_test.prototxt",
        optimizer="sgd",
        rate=0.01,
        policy="inv",
        gamma=0.0001,
        power=0.75,
        step=1,
        steps=(),
        iterations=10000,
        momentum=0.9,
        momentum2=0.999,
        delta=1e-8,
        weight_decay=0.0005,
        clip_gradients=0.0,
        iter_size=1,
        regularization="L2",
        random_seed=-1,
        weights=(),
        test_networks=(),
        test_iter=(100,),
        test_interval=500,
        test_initialization=True,
        snapshot=5000,
        snapshot_prefix="lenet",
        snapshot_after_train=True,
        display=100,
    )


def test_every_field_of_a_solver_is_read(tmp_path: Path) -> None:
    cifar = read(tmp_path, CIFAR)
    assert (cifar.network, cifar.test_networks) == ("train.prototxt", ("test.prototxt",))
    assert (cifar.optimizer, cifar.momentum2, cifar.delta) == ("adam", 0.99, 1e-7)
    assert (cifar.policy, cifar.steps) == ("multistep", (60000, 65000))
    assert (cifar.regularization, cifar.clip_gradients, cifar.iter_size) == ("L1", 35.0, 4)
    assert (cifar.random_seed, cifar.weights) == (7, ("a.caffemodel",))
    assert not cifar.snapshot_after_train


def test_a_solver_has_the_settings_of_an_optimizer(tmp_path: Path) -> None:
    caffe = read(tmp_path, LENET)
    settings = {field.name: getattr(caffe, field.name) for field in fields(trimtab.Solver)}
    assert trimtab.Solver(**settings).power == 0.75


@pytest.mark.parametrize(
    ("old", "optimizer"), [("solver_type: NESTEROV", "nesterov"), ("solver_type: 5", "adam")]
)
def test_old_types_of_solvers_are_read(old: str, optimizer: str, tmp_path: Path) -> None:
    assert read(tmp_path, LENET + old).optimizer == optimizer


def test_a_network_is_found_beside_its_solver(tmp_path: Path) -> None:
    lenet = read(tmp_path, LENET)
    path = tmp_path / "solver.prototxt"
    assert lenet.network_path(path) == Path(lenet.network)
    (tmp_path / "lenet_train_test.prototxt").touch()
    assert lenet.network_path(path) == tmp_path / "lenet_train_test.prototxt"


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("momentum: 0.9", "momentun: 0.9", "'momentun' are not known"),
        ("base_lr: 0.01", "", "lacks 'base_lr'"),
        ("gamma: 0.0001", "", "lacks 'gamma', which lr_policy inv needs"),
        ('"inv"', '"step"', "lacks 'stepsize', which lr_policy step needs"),
        ('"inv"', '"sigmoid"', "lr_policy is 'sigmoid'"),
        ("display: 100", 'type: "AdaGrad"', "type is AdaGrad"),
        ("display: 100", 'type: "Adam2"', "one of SGD, Nesterov"),
        ("display: 100", "iter_size: 0", "'iter_size' is 0, it must be at least 1"),
        ("display: 100", "iter_size: 1e400", "'iter_size' .* not an integer"),
        ("display: 100", "display: -1", "'display' is -1, it must be at least 0"),
        ("snapshot: 5000", "snapshot: 2147483648", "'snapshot' .* at most 2147483647"),
        ("gamma: 0.0001", "gamma: 1e400", "'gamma' is inf, no finite number"),
        ("display: 100", "clip_gradients: nan", "'clip_gradients' is nan, no finite number"),
        ("examples/mnist", r"\000", "'net' .* not a text without NUL"),
        ("momentum: 0.9", "momentum: -1", "'momentum' is -1"),
        ("momentum: 0.9", "momentum: nan", "'momentum' is nan"),
        ("momentum: 0.9", "momentum: much", "'much' .* not a number"),
        ("display: 100", "net_param { }", "network is in 'net_param'"),
        ('net: "examples/mnist/lenet_train_test.prototxt"', "", "lacks 'net'"),
    ],
)
def test_mistakes_are_errors_that_name_the_field(
    old: str, new: str, match: str, tmp_path: Path
) -> None:
    assert old in LENET
    with pytest.raises(ImportModelError, match=match) as caught:
        read(tmp_path, LENET.replace(old, new))
    assert "solver.prototxt" in str(caught.value)
    assert caught.value.hint


def test_a_damaged_solver_is_an_error_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="1:"):
        read(tmp_path, "net: {")


NETWORK = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 } } }
layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
  param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
  inner_product_param { num_output: 3 } }
layer { name: "norm" type: "BatchNorm" bottom: "ip1" top: "ip1" param { lr_mult: 0 }
  param { lr_mult: 0 } param { lr_mult: 0 } }
layer { name: "act" type: "PReLU" bottom: "ip1" top: "ip1" param { lr_mult: 0.5 } }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2" include { phase: TRAIN }
  param { lr_mult: 0 decay_mult: 0 } inner_product_param { num_output: 3 } }
layer { name: "ip3" type: "InnerProduct" bottom: "ip1" top: "ip3" include { phase: TEST }
  param { lr_mult: 7 } inner_product_param { num_output: 3 } }
"""
V1 = """
layers { name: "conv" type: CONVOLUTION bottom: "data" top: "conv" blobs_lr: 1 blobs_lr: 2
  weight_decay: 1 weight_decay: 0 convolution_param { num_output: 4 kernel_size: 3 } }
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            NETWORK,
            {
                "ip1.weight": (1, 1),
                "ip1.bias": (2, 0),
                "act.slope": (0.5, 1),
                "ip2.weight": (0, 0),
                "ip2.bias": (1, 1),
                "norm.scale": (0, 0),
                "norm.shift": (0, 0),
                "*": (1, 1),
            },
        ),
        (V1, {"conv.weight": (1, 1), "conv.bias": (2, 0), "*": (1, 1)}),
    ],
    ids=["current", "first version"],
)
def test_multipliers_are_those_of_the_layers_that_train(
    text: str, expected: dict[str, tuple[float, float]], tmp_path: Path
) -> None:
    path = tmp_path / "net.prototxt"
    path.write_text(text)
    assert solver.multipliers(path) == expected


def test_more_multipliers_than_parameters_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.prototxt"
    path.write_text(NETWORK.replace("lr_mult: 0.5 }", "lr_mult: 0.5 } param { lr_mult: 1 }"))
    with pytest.raises(ImportModelError, match=r"'act' .*multipliers of 2 parameters"):
        solver.multipliers(path)
