"""The bill of materials of a release, and the lock."""

from __future__ import annotations

import base64
import hashlib
import json
import tomllib
import zipfile
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import trimtab
from lab.dev import distribution, lock
from trimtab.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def locked() -> dict[str, distribution.Locked]:
    return distribution.read_lock((ROOT / "requirements.lock").read_text())


@pytest.fixture(scope="module")
def developers() -> dict[str, distribution.Locked]:
    return distribution.read_lock((ROOT / lock.DEVELOPERS_LOCK).read_text())


def requirements(*extras: str) -> list[Requirement]:
    """The requirements of run time and build, and those of extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    texts = project["project"]["dependencies"] + project["build-system"]["requires"]
    for extra in extras:
        texts += project["project"]["optional-dependencies"][extra]
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize("requirement", requirements("editable"), ids=lambda r: r.name)
def test_the_lock_has_a_valid_version_with_hashes(
    requirement: Requirement, locked: dict[str, distribution.Locked]
) -> None:
    package = locked[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(package.version), "run ./inv lock"
    assert package.sha256


@pytest.mark.parametrize("requirement", requirements("editable", "dev"), ids=lambda r: r.name)
def test_the_developers_lock_has_a_valid_version_with_hashes(
    requirement: Requirement, developers: dict[str, distribution.Locked]
) -> None:
    package = developers[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(package.version), "run ./inv lock"
    assert package.sha256


def test_users_and_developers_have_the_same_versions(
    locked: dict[str, distribution.Locked], developers: dict[str, distribution.Locked]
) -> None:
    assert len(locked) > 20
    assert locked.items() <= developers.items()


def test_every_locked_package_has_hashes(locked: dict[str, distribution.Locked]) -> None:
    assert all(package.sha256 for package in locked.values())
    assert distribution.read_lock("a==1.0 \\\n    # via b\n")["a"] == distribution.Locked("1.0", ())


def test_the_bill_of_materials_is_cyclonedx_and_names_the_dependencies(
    locked: dict[str, distribution.Locked],
) -> None:
    # Not above: the import compiles grammars for seconds, also in processes without this test.
    from cyclonedx.validation.json import JsonStrictValidator

    bom = distribution.sbom(locked)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bom)) is None
    names = {component["name"] for component in bom["components"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = {canonicalize_name(Requirement(text).name) for text in project["dependencies"]}
    assert direct < names  # and what these need, such as flatbuffers
    assert "pytest" not in names
    assert bom == distribution.sbom(locked)
    references = {c["bom-ref"] for c in bom["components"]} | {
        bom["metadata"]["component"]["bom-ref"]
    }
    for row in bom["dependencies"]:
        assert {row["ref"], *row["dependsOn"]} <= references


def wheel_of(folder: Path) -> Path:
    """A wheel of one module, as a build backend writes it."""
    path = folder / "trimtab-0.1.0-py3-none-any.whl"
    record = "trimtab/__init__.py,,\ntrimtab-0.1.0.dist-info/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("trimtab/__init__.py", "x = 1\n")
        archive.writestr("trimtab-0.1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
        archive.writestr("trimtab-0.1.0.dist-info/RECORD", record)
    return path


def test_a_wheel_has_the_bill_of_materials_in_it_and_in_its_record(tmp_path: Path) -> None:
    source, output = tmp_path / "source", tmp_path / "output"
    source.mkdir()
    output.mkdir()
    wheel = distribution.add_sbom(wheel_of(source), '{"bomFormat": "CycloneDX"}\n', output)
    path = "trimtab-0.1.0.dist-info/sboms/trimtab.cdx.json"  # PEP 770
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        content = archive.read(path)
        rows = archive.read("trimtab-0.1.0.dist-info/RECORD").decode().splitlines()
        assert archive.namelist()[-1].endswith("RECORD")  # the last, as PEP 427 recommends
        assert archive.read("trimtab/__init__.py") == b"x = 1\n"
    assert json.loads(content) == {"bomFormat": "CycloneDX"}
    # The digest of a record is URL-safe base64 without padding (PEP 376, PEP 427).
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    assert f"{path},sha256={digest},{len(content)}" in rows
    again = tmp_path / "again"
    again.mkdir()
    twice = distribution.add_sbom(wheel, '{"bomFormat": "CycloneDX"}\n', again)
    assert twice.read_bytes() == wheel.read_bytes()


def test_the_pages_of_a_release_are_those_of_the_clone_and_written_by_its_code(
    tmp_path: Path,
) -> None:
    clone = tmp_path / "clone"
    for name in ("docs/page.md", "README.md", "lab/__init__.py", "lab/note.txt"):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text("text")
    (clone / "lab" / "docs").mkdir()
    (clone / "lab" / "__init__.py").write_text("")
    code = (
        "from pathlib import Path\n\ndef renew():\n    Path('docs/new.md').write_text(__file__)\n"
    )
    (clone / "lab" / "docs" / "generator.py").write_text(code)
    archives = []
    for output in (tmp_path / "first", tmp_path / "second"):
        output.mkdir()
        archives.append(distribution.pack_pages(distribution.written_pages(clone), output))
    first, second = archives
    folder = f"trimtab-{trimtab.__version__}"
    assert first.name == f"{folder}-docs.zip"
    with zipfile.ZipFile(first) as archive:
        assert archive.testzip() is None
        names = [f"{folder}/{name}" for name in ("README.md", "docs/new.md", "docs/page.md")]
        assert archive.namelist() == names
        assert archive.read(names[1]).decode() == str(clone / "lab" / "docs" / "generator.py")
    assert first.read_bytes() == second.read_bytes()


def test_the_notes_of_a_release_are_the_section_of_its_version() -> None:
    changelog = "# C\n\n## [Unreleased]\n\n## [1.1.0] - now\n\n- b\n\n## [1.0.0] - then\n\n- a\n"
    assert distribution.changes(changelog, "1.1.0") == "- b\n"
    assert distribution.changes(changelog, "1.0.0") == "- a\n"
    for version in ("2.0.0", "1.1", "Unreleased"):
        with pytest.raises(UsageError, match=f"no section of {version}"):
            distribution.changes(changelog, version)


def test_a_tag_is_that_of_the_version() -> None:
    distribution.check_tag(f"v{trimtab.__version__}", ROOT)
    with pytest.raises(UsageError, match="not that of version"):
        distribution.check_tag("v9.9.9", ROOT)
