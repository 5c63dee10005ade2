"""Builds that are repeated, and signed statements about them: what was changed is refused by name.

OpenSSH itself makes and checks the signatures.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bench.fakes import write_record
from tests.build import samples
from tests.devices.conftest import require
from tests.small_programs import Net
from trimtab import files
from trimtab.errors import MissingRequirementError, ResultError, VerificationError
from trimtab.verification import checks, page, rebuild, signature, statement
from trimtab.verification.difference import first_difference

RECIPE: dict[str, Any] = {"recipe": {"model": "net"}, "sources": {}, "paced": False}


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A private key of OpenSSH."""
    path = tmp_path_factory.mktemp("key") / "id_ed25519"
    program = require("ssh-keygen", "openssh-client")
    argv = [program, "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
    subprocess.run(argv, check=True)
    return path


def delivery(folder: Path, **made_from: Any) -> Path:
    """A folder as `build` makes it, of two files."""
    folder.mkdir()
    contents = {"trimtab-run": b"runner", "net.ttm": b"model"}
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    facts = {name: {"sha256": files.sha256(folder / name)} for name in contents}
    record: dict[str, Any] = {
        "trimtab": "0",
        "compiler": "zig 0",
        "files": facts,
        "made_from": RECIPE | made_from,
    }
    record |= {"toolchain": "host", "cpu": "native", "profile": {}, "git": None}
    (folder / "build.json").write_text(json.dumps(record))
    return folder


def run(folder: Path) -> Path:
    """The record of a run of a recorded recipe."""
    path = write_record(folder, samples=[5, 6, 7])
    header, *others = path.read_text().splitlines(keepends=True)
    header = json.dumps({**json.loads(header), "made_from": RECIPE}) + "\n"
    path.write_text("".join([header, *others]))
    return path


def signed(target: Path, key: Path, *reports: Path) -> Path:
    """The statement about a folder or a record, signed."""
    place = statement.place(target)
    place.write_text(signature.sign(statement.about(target, reports), key))
    return place


def test_a_statement_of_in_toto_links_the_files_of_a_run(key: Path, tmp_path: Path) -> None:
    path, report = run(tmp_path), tmp_path / "report.html"
    report.write_text("fast")
    envelope = json.loads(signed(path, key, report).read_text())
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    signed_text = json.loads(base64.b64decode(envelope["payload"]))
    assert signed_text["_type"] == "https://in-toto.io/Statement/v1"
    assert {row["name"]: row["digest"]["sha256"] for row in signed_text["subject"]} == {
        "trimtab-run": "cd" * 32,
        "net.ttm": "ab" * 32,
        path.name: files.sha256(path),
        "report.html": files.sha256(report),
    }
    assert signed_text["predicate"]["device"]["cpu"] == "cortex-a53"
    assert signed_text["predicate"]["made_from"] == RECIPE


def test_the_signature_is_over_the_encoding_of_dsse(key: Path, tmp_path: Path) -> None:
    """The text that is signed is that of the specification's section "Signature definition"."""
    envelope = json.loads(signed(delivery(tmp_path / "out"), key).read_text())
    payload = base64.b64decode(envelope["payload"])
    text = b"DSSEv1 28 application/vnd.in-toto+json " + str(len(payload)).encode() + b" " + payload
    (tmp_path / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    (tmp_path / "signers").write_text(f"me {key.with_suffix('.pub').read_text()}")
    argv = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", "me", "-n", "trimtab"]
    subprocess.run([*argv, "-s", "sig"], cwd=tmp_path, input=text, check=True)


def test_the_key_of_a_good_signature_is_told(
    key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = delivery(tmp_path / "out")
    assert checks.check_signature(folder).startswith("Nobody has signed it")
    monkeypatch.chdir(folder)
    assert statement.place(Path()) == tmp_path / "out.intoto.json"
    signed(folder, key)
    listed = subprocess.run(
        ["ssh-keygen", "-lf", str(key)], capture_output=True, text=True, check=True
    )
    fingerprint = listed.stdout.split()[1]
    assert f"ED25519 key {fingerprint}: all 3 files" in checks.check_signature(folder)
    signers = tmp_path / "signers"
    signers.write_text(f"ann@example.org {key.with_suffix('.pub').read_text()}")
    assert f"{fingerprint} of ann@example.org" in checks.check_signature(folder, signers)


def test_a_page_shows_the_signer_the_files_and_the_facts(key: Path, tmp_path: Path) -> None:
    folder = delivery(tmp_path / "out")
    signed(folder, key)
    text = page.to_html(folder, checks.check_signature(folder), None, None)
    listed = subprocess.run(
        ["ssh-keygen", "-lf", str(key)], capture_output=True, text=True, check=True
    )
    assert listed.stdout.split()[1] in text
    for name in ("trimtab-run", "build.json"):
        assert files.sha256(folder / name) in text
    assert "urn:trimtab:build:v1" in text


def swap_binary(target: Path) -> None:
    (target / "trimtab-run").write_bytes(b"other.")


def change_record(target: Path) -> None:
    record = json.loads((target / "build.json").read_text())
    (target / "build.json").write_text(json.dumps({**record, "compiler": "zig 1"}))


def change_statement(target: Path) -> None:
    place = statement.place(target)
    envelope = json.loads(place.read_text())
    signed_text = base64.b64decode(envelope["payload"]).replace(b'"host"', b'"h0st"')
    envelope["payload"] = base64.b64encode(signed_text).decode()
    place.write_text(json.dumps(envelope))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (swap_binary, "trimtab-run is not the file that the statement is about"),
        (change_record, "build.json is not the file that the statement is about"),
        (change_statement, "the signature does not fit the statement"),
        (lambda target: statement.place(target).write_text("{}"), "not a signed statement"),
        (lambda target: statement.place(target).write_bytes(b"\xff"), "not a signed statement"),
        (lambda target: statement.place(target).write_text("[1]"), "not a signed statement"),
    ],
)
def test_what_was_changed_after_the_signature_is_refused(
    change: Callable[[Path], None], message: str, key: Path, tmp_path: Path
) -> None:
    folder = delivery(tmp_path / "out")
    signed(folder, key)
    change(folder)
    with pytest.raises(VerificationError, match=message) as error:
        checks.check_signature(folder)
    assert error.value.exit_code == 48


def test_a_record_that_was_changed_by_a_byte_is_refused(key: Path, tmp_path: Path) -> None:
    path = run(tmp_path)
    signed(path, key)
    assert "all 3 files" in checks.check_signature(path)
    path.write_text(path.read_text().replace('"ns":6', '"ns":5'))
    with pytest.raises(VerificationError, match="is not the file that the statement"):
        checks.check_signature(path)


def test_the_report_of_another_run_is_refused(key: Path, tmp_path: Path) -> None:
    path, report, other = run(tmp_path), tmp_path / "mine.html", tmp_path / "other.html"
    report.write_text("slow")
    other.write_text("fast")
    signed(path, key, report)
    assert "all 4 files" in checks.check_signature(path, reports=(report,))
    with pytest.raises(VerificationError, match=r"the statement is not about other\.html"):
        checks.check_signature(path, reports=(other,))
    report.write_text("fast")
    with pytest.raises(VerificationError, match=r"mine\.html is not the file"):
        checks.check_signature(path, reports=(report,))


def test_a_key_that_is_not_listed_is_refused(key: Path, tmp_path: Path) -> None:
    folder, signers = delivery(tmp_path / "out"), tmp_path / "signers"
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    signers.write_text(f"ann@example.org {other.with_suffix('.pub').read_text()}")
    with pytest.raises(VerificationError, match="there is no signed statement"):
        checks.check_signature(folder, signers)
    signed(folder, key)
    with pytest.raises(VerificationError, match="does not list the key"):
        checks.check_signature(folder, signers)


def test_a_key_that_cannot_sign_and_a_missing_program_are_named(
    key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_text = statement.of_folder(delivery(tmp_path / "out"))
    with pytest.raises(VerificationError, match="ssh-keygen cannot sign"):
        signature.sign(signed_text, tmp_path / "nothing")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingRequirementError, match="ssh-keygen is not installed"):
        signature.sign(signed_text, key)


def test_minisign_signs_and_checks_as_a_second_program(tmp_path: Path) -> None:
    program, folder = require("minisign", "minisign"), delivery(tmp_path / "out")
    for name in ("mine", "other"):
        keys = ["-p", str(tmp_path / f"{name}.pub"), "-s", str(tmp_path / f"{name}.key")]
        subprocess.run([program, "-G", "-W", *keys], check=True, stdin=subprocess.DEVNULL)
    mine = tmp_path / "mine.pub"
    envelope = json.loads(signed(folder, tmp_path / "mine.key").read_text())
    assert f"the minisign key of {mine}: all 3 files" in checks.check_signature(folder, mine)
    payload = base64.b64decode(envelope["payload"])  # minisign itself accepts it
    text = b"DSSEv1 28 application/vnd.in-toto+json " + str(len(payload)).encode() + b" " + payload
    (tmp_path / "text").write_bytes(text)
    (tmp_path / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    check = ["-V", "-p", str(mine), "-m", str(tmp_path / "text"), "-x", str(tmp_path / "sig")]
    subprocess.run([program, *check], check=True)
    with pytest.raises(VerificationError, match="says nothing without the public key"):
        checks.check_signature(folder)
    with pytest.raises(VerificationError, match=r"other\.pub does not list the key"):
        checks.check_signature(folder, tmp_path / "other.pub")
    change_statement(folder)
    with pytest.raises(VerificationError, match="the signature does not fit"):
        checks.check_signature(folder, mine)


def test_a_file_of_a_build_that_was_replaced_is_named(tmp_path: Path) -> None:
    folder = delivery(tmp_path / "out")
    assert checks.recorded_build(folder).digests.keys() == {"trimtab-run", "net.ttm"}
    (folder / "net.ttm").write_bytes(b"Model")
    with pytest.raises(VerificationError, match=r"net\.ttm is not the file that was built"):
        checks.recorded_build(folder)
    (folder / "net.ttm").unlink()
    with pytest.raises(VerificationError, match=r"net\.ttm is not the file that was built"):
        checks.recorded_build(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": 5}', '{"files": {"a": 1}}', "\0"])
def test_a_folder_without_the_record_of_a_build_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "build.json").write_text(text)
    with pytest.raises(ResultError, match="not the record of a build"):
        checks.recorded_build(tmp_path)


def test_a_model_that_changed_since_the_build_is_refused(tmp_path: Path) -> None:
    samples.relu(tmp_path, "x86_64")
    model, digest = tmp_path / "relu.onnx", files.sha256(tmp_path / "relu.onnx")
    recorded = {"recipe": {"model": str(model)}, "sources": {str(model): digest}}
    folder = delivery(tmp_path / "out", **recorded)
    model.write_bytes(model.read_bytes() + b"\0\0")
    with pytest.raises(VerificationError, match=r"relu\.onnx has changed since the build"):
        checks.compare(checks.recorded_build(folder))
    model.unlink()
    with pytest.raises(VerificationError, match=r"relu\.onnx does not exist here") as error:
        checks.compare(checks.recorded_build(folder))
    assert digest in error.value.what


@pytest.fixture
def rebuilt_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, bytes]:
    """The files of a second build, which tests replace."""
    contents = {"trimtab-run": b"runner", "net.ttm": b"model"}

    @contextmanager
    def fake(*_: object) -> Iterator[tuple[None, dict[str, Path]]]:
        for name, data in contents.items():
            (tmp_path / name).write_bytes(data)
        yield None, {name: tmp_path / name for name in contents}

    monkeypatch.setattr(checks, "rebuilt", fake)
    monkeypatch.setattr(checks, "tools_differ", lambda *_: "")
    return contents


def test_the_first_file_that_differs_is_named(
    rebuilt_bytes: dict[str, bytes], tmp_path: Path
) -> None:
    recorded = checks.recorded_build(delivery(tmp_path / "out"))
    assert checks.compare(recorded).difference == ""
    rebuilt_bytes["trimtab-run"] = b"rundll"
    outcome = checks.compare(recorded)
    assert outcome.difference == "trimtab-run: byte 3"
    assert [row[3] for row in outcome.table.rows] == ["differs", "same"]
    del rebuilt_bytes["trimtab-run"]
    assert checks.compare(recorded).difference == "trimtab-run"


def test_the_section_and_function_of_a_binary_that_differ_are_named(tmp_path: Path) -> None:
    source, one, other = tmp_path / "a.c", tmp_path / "one", tmp_path / "other"
    for path, number in ((one, 3), (other, 4)):
        source.write_text(
            f"int first(void) {{ return 1; }}\nint second(void) {{ return {number}; }}"
        )
        compiler = require("cc", "gcc")
        subprocess.run([compiler, "-O1", "-c", str(source), "-o", str(path)], check=True)
    assert first_difference(one, other).endswith(", section .text, second")


def test_the_operator_or_constant_of_a_model_that_differs_is_named(tmp_path: Path) -> None:
    def saved(name: str, type: str, value: float) -> Path:
        net = Net(x=(1, 3))
        net.program.outputs = [net("add", net(type, "x"), np.full((1, 3), value, np.float32))]
        net.program.save(tmp_path / name)
        return tmp_path / name

    base = saved("base.ttm", "relu", 1)
    assert "operator relu" in first_difference(base, saved("type.ttm", "abs", 1))
    assert "constant" in first_difference(base, saved("value.ttm", "relu", 2))


def test_other_tools_are_told(tmp_path: Path) -> None:
    recorded = checks.recorded_build(delivery(tmp_path / "out"))

    class Delivered:
        compiler = "zig 1"

    sentence = rebuild.tools_differ(recorded, Delivered)  # type: ignore[arg-type]
    assert "zig 0, here zig 1" in sentence


@pytest.mark.build
@pytest.mark.slow
def test_a_build_is_the_same_to_the_byte_without_anything_of_the_first(tmp_path: Path) -> None:
    from trimtab.pipeline.built import build
    from trimtab.pipeline.loaded import load
    from trimtab.pipeline.planned import plan
    from trimtab.pipeline.recipe import Recipe

    samples.relu(tmp_path, "x86_64")
    recipe = Recipe(str(tmp_path / "relu.onnx"), output=tmp_path / "out", embed_model=True)
    build(plan(load(recipe)))
    outcome = checks.compare(checks.recorded_build(tmp_path / "out"))
    assert outcome.difference == ""
    assert {"trimtab-run", "libtrimtab.a"} <= {row[0] for row in outcome.table.rows}
    (tmp_path / "relu.onnx").rename(tmp_path / "moved.onnx")
    with pytest.raises(VerificationError, match="does not exist here"):
        checks.compare(checks.recorded_build(tmp_path / "out"))
