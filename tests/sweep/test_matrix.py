"""The file of a sweep: its cells, exclusions, and an error for every mistake."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trimtab.errors import TrimtabError, UsageError
from trimtab.sweep import matrix
from trimtab.sweep import run as workflow
from trimtab.sweep.builds import recipe_of
from trimtab.sweep.matrix import Sweep


def sweep(tmp_path: Path, text: str) -> Sweep:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return matrix.read(path)


def test_a_matrix_is_the_product_of_its_axes_without_excluded_cells(tmp_path: Path) -> None:
    text = """
    [matrix]
    model = ["resnet18", "squeezenet"]
    threads = [1, 2]
    device = ["local", "qemu-a53"]
    [[exclude]]
    device = "qemu-a53"
    threads = 2
    """
    parsed = sweep(tmp_path, text)
    assert parsed.name == "mine"
    assert len(parsed.cells) == 2 * 2 * 2 - 2
    assert all(c.device == "local" for c in parsed.cells if c.threads == 2)


def test_several_matrices_are_a_union_and_a_cell_in_two_of_them_is_one(tmp_path: Path) -> None:
    text = """
    [[matrix]]
    model = ["resnet18", "squeezenet"]
    [[matrix]]
    model = ["squeezenet", "googlenet"]
    """
    assert [c.model for c in sweep(tmp_path, text).cells] == ["resnet18", "squeezenet", "googlenet"]


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("[matrix]\nmodle = 'a'", "unknown key `matrix.modle`", "did you mean `matrix.model`"),
        ("[matrx]\nmodel = 'a'", "unknown key `matrx`", "did you mean `matrix`"),
        ("[matrix]\nmodel = 'a'\n[protocol]\nlaunch = 3", "protocol.launch`", "protocol.launches`"),
        ("[matrix]\nmodel = 'a'\n[protocol]\nlaunches = 0", "launches is 0", ""),
        ("[matrix]\nmodel = 'a'\n[protocol]\nlaunches = true", "must be an integer", "sweeps.md"),
        ("[matrix]\nmodel = 'a'\n[protocol]\ntimeout = 'long'", "must be a number", ""),
        ("[matrix]\nmodel = 'a'\n[protocol]\ncompare = 'precison'", "precison", "precision"),
        (
            "[matrix]\nmodel = 'a'\n[protocol]\ncompare = 'device'",
            "compare.device`",
            "the keys are",
        ),
        ("[matrix]\nmodel = 'a'\nthreads = 0", "an integer of at least 1", ""),
        ("[matrix]\nmodel = 'a'\nthreads = 'two'", "must be an integer", ""),
        ("[matrix]\nmodel = 3", "must be a string", ""),
        ("[matrix]\nmodel = []", "`model` of .matrix. is empty", ""),
        ("[matrix]\ndevice = 'local'", "has no `model`", ""),
        ("doc = 'nothing'", "there is no .matrix.", ""),
        ("matrix = 3", "must be a table", ""),
        ("[matrix]\nmodel = 'a'\n[[exclude]]\nmodel = 'a'", "no cell", "exclude fewer"),
        ("[matrix]\nmodel = 'a'\n[[exclude]]\nmodel = 'b'", "model = b matches no cell", ""),
        ("[matrix\nmodel = 'a'", "not a TOML file", ""),
        (f"[matrix]\nmodel = 'a'\nthreads = {[*range(1, 65)]}\ncpu = {['c'] * 200}", "12,800", ""),
    ],
)
def test_a_mistake_is_named_with_a_suggestion(
    tmp_path: Path, text: str, says: str, hint: str
) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        sweep(tmp_path, text)
    assert caught.value.where.endswith("mine.toml")
    assert hint in caught.value.hint


def test_a_missing_or_binary_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        matrix.read(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not a TOML file"):
        matrix.read(tmp_path / "bytes.toml")


def test_a_key_changes_with_everything_it_identifies_and_nothing_else(tmp_path: Path) -> None:
    text = "[matrix]\nmodel = ['resnet18']\nthreads = {threads}\n[protocol]\nwait = {wait}\n"
    text += "launches = {launches}\n"
    one = sweep(tmp_path, text.format(threads=1, wait=1, launches=10))
    other = sweep(tmp_path, text.format(threads=2, wait=1, launches=10))
    longer = sweep(tmp_path, text.format(threads=1, wait=1, launches=20))
    patient = sweep(tmp_path, text.format(threads=1, wait=9, launches=10))
    key = one.key(one.cells[0], "aa", "bb")
    assert patient.key(patient.cells[0], "aa", "bb") == key
    others = {
        one.key(one.cells[0], "ab", "bb"),
        one.key(one.cells[0], "aa", "bc"),
        other.key(other.cells[0], "aa", "bb"),
        longer.key(longer.cells[0], "aa", "bb"),
    }
    assert len({key, *others}) == 5
    assert one.series(one.cells[0]) == patient.series(patient.cells[0])
    assert one.series(one.cells[0]) != longer.series(longer.cells[0])


@pytest.mark.parametrize(
    ("device", "protocol", "is_same"),
    [
        ("local", "launches = 10\nruns = 30", True),  # the defaults
        ("local", "timeout = 9", True),
        ("local", "governor = 'keep'", False),
        ("local", "compare = 'threads'", False),
        ("qemu-a53", "launches = 4\nwarmup = 9\ntimeout = 9\ngovernor = 'keep'", True),
        ("qemu-a53", "compare = 'threads'\nmin-time-ms = 3", True),
        ("qemu-a53", "per-op = true", False),
    ],
)
def test_a_key_is_that_of_the_protocol_that_has_an_effect(
    tmp_path: Path, device: str, protocol: str, is_same: bool
) -> None:
    text = f"[matrix]\nmodel = 'resnet18'\ndevice = '{device}'\n[protocol]\n"
    plain, other = (sweep(tmp_path, text + more) for more in ("", protocol))
    keys = [of.key(of.cells[0], "aa", "bb") for of in (plain, other)]
    assert (keys[0] == keys[1]) == is_same


def test_cells_that_differ_only_in_compared_axes_form_one_group(tmp_path: Path) -> None:
    text = """
    [matrix]
    model = ["resnet18", "squeezenet"]
    prefer = ["balanced", "size", "load"]
    [protocol]
    compare = "prefer"
    """
    parsed = sweep(tmp_path, text)
    assert [len(group) for group in parsed.groups(parsed.cells)] == [3, 3]
    assert all(len({c.model for c in group}) == 1 for group in parsed.groups(parsed.cells))


def test_models_and_plans_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").touch()
    parsed = sweep(tmp_path, "[matrix]\nmodel = ['net.onnx', 'resnet18']\nplan = 'fast.toml'")
    assert [c.model for c in parsed.cells] == [str(tmp_path / "net.onnx"), "resnet18"]
    assert {c.plan for c in parsed.cells} == {str(tmp_path / "fast.toml")}
    assert parsed.cells[0].configuration["model"] == "net.onnx", "the same on every machine"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("model = 'resnet19'", "neither a file nor a network of the zoo"),
        ("device = 'nowhere'", "unknown device 'nowhere'"),
        ("toolchain = 'gcc-1'", "gcc-1"),
        ("cpu = 'cortex-z9'", "cortex-z9"),
        ("profile = 'nothing'", "nothing"),
        ("precision = 'f8'", "f8"),
        ("prefer = 'beauty'", "beauty"),
        ("plan = 'missing.toml'", "missing.toml"),
    ],
)
def test_an_unknown_name_is_reported_before_anything_is_built(
    tmp_path: Path, line: str, says: str
) -> None:
    path = tmp_path / "mine.toml"
    model = "" if line.startswith("model") else "model = 'resnet18'\n"
    path.write_text(f"[matrix]\n{model}{line}\n")
    with pytest.raises(Exception, match=says) as caught:
        workflow.read(path)
    assert hasattr(caught.value, "exit_code"), "a user's mistake, and no traceback"


def test_the_sweeps_of_the_project_can_be_read(root: Path) -> None:
    paths = sorted((root / "sweeps").glob("*.toml"))
    assert paths
    for path in paths:
        parsed = workflow.read(path)
        assert parsed.doc
        assert parsed.cells


def test_every_precision_keeps_only_the_options_that_it_uses(tmp_path: Path) -> None:
    (tmp_path / "samples.npz").touch()
    path = tmp_path / "mine.toml"
    path.write_text(
        """
        [matrix]
        model = "resnet18"
        precision = ["f32", "f16", "int8", "mixed"]
        calibration = "samples.npz"
        budget = ["error <= 0.1", "error <= 0.2"]
        [protocol]
        compare = "precision"
        """
    )
    parsed = workflow.read(path)
    samples = str(tmp_path / "samples.npz")
    assert [(c.precision, c.calibration, c.budget) for c in parsed.cells] == [
        ("f32", "", ""),
        ("f16", samples, ""),
        ("int8", samples, ""),
        ("mixed", samples, "error <= 0.1"),
        ("mixed", samples, "error <= 0.2"),
    ]
    assert len(parsed.groups(parsed.cells)) == 1, "they are compared although samples differ"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("calibration = 'a.npz'", "no cell uses the calibration .*a.npz"),
        ("precision = 'f16'\ncalibration = 'b.npz'", "b.npz: no such file or folder"),
        (
            "precision = 'int8'\ncalibration = 'a.npz'\nbudget = 'error <= 1'",
            "no cell uses the budget",
        ),
        (
            "precision = 'mixed'\ncalibration = 'a.npz'\nbudget = 'errors <= 1'",
            "malformed budget",
        ),
    ],
)
def test_an_option_without_effect_or_a_missing_file_is_an_error(
    tmp_path: Path, lines: str, says: str
) -> None:
    (tmp_path / "a.npz").touch()
    path = tmp_path / "mine.toml"
    path.write_text(f"[matrix]\nmodel = 'resnet18'\n{lines}\n")
    with pytest.raises(TrimtabError) as caught:
        workflow.read(path)
    assert re.search(says, str(caught.value))


def test_shapes_of_inputs_are_an_axis_with_one_or_several_inputs_per_value(
    tmp_path: Path,
) -> None:
    parsed = sweep(
        tmp_path,
        """
        [matrix]
        model = "net.onnx"
        input = ["data=1,3,32,32", ["data=1,3,64,64", "scale=1,2"]]
        [[exclude]]
        input = "data=1,3,32,32"
        """,
    )
    (cell,) = parsed.cells
    assert cell.input == ("data=1,3,64,64", "scale=1,2")
    assert cell.configuration["input"] == "data=1,3,64,64 scale=1,2"
    recipe = recipe_of(cell, tmp_path / "net.onnx", None)
    assert recipe.shapes == {"data": (1, 3, 64, 64), "scale": (1, 2)}


@pytest.mark.parametrize("value", ["'1,3,4'", "'x=1,-3'", "['x=1', 'x=2']", "'x=1,a'", "3"])
def test_a_malformed_shape_of_an_input_is_an_error(tmp_path: Path, value: str) -> None:
    with pytest.raises(UsageError, match=r"input"):
        sweep(tmp_path, f"[matrix]\nmodel = 'net.onnx'\ninput = [{value}]\n")
