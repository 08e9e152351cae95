"""The chart of a release: what Artifact Hub shows of it, and the image that it pulls."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from tests.deploy.manifests import CHART, KUBERNETES, NAMESPACE, Helm, by_name, read
from tests.release.conftest import EPOCH, ROOT, run
from webhook import PROJECT_ADDRESS, __version__

Json: TypeAlias = dict[str, Any]

SCRIPT = ROOT / "deploy" / "release" / "chart.py"
IMAGE = f"ghcr.io/example/evenspread@sha256:{'a' * 64}"
SECTION = """\
### Added

- One thing works. It did not before,
  as many know.
- `--flag` does this: an
  example

### Fixed

- Another thing works, e.g. this one
"""

CATEGORIES = {
    *("ai-machine-learning", "database", "integration-delivery", "monitoring-logging"),
    *("networking", "security", "skip-prediction", "storage", "streaming-messaging"),
}
KINDS = {"added", "changed", "deprecated", "removed", "fixed", "security"}
MEMBERS = {
    "changes": ({"kind", "description"}, {"links"}),
    "images": ({"name", "image"}, {"whitelisted", "platforms"}),
    "links": ({"name", "url"}, set[str]()),
    "screenshots": ({"title", "url"}, set[str]()),
    "crds": ({"kind", "version", "name", "displayName", "description"}, set[str]()),
    "crdsExamples": ({"apiVersion", "kind", "metadata"}, {"spec"}),
}
"""Members of the entries of each list: required ones, and others. Source: artifacthub.io/docs."""


def annotations(chart: Json) -> Json:
    """The annotations for Artifact Hub; lists are written as YAML in text."""
    own = {name.partition("/")[2]: text for name, text in chart["annotations"].items()}
    return own | {name: yaml.safe_load(own[name]) for name in MEMBERS}


CHART_YAML: Json = yaml.safe_load((CHART / "Chart.yaml").read_text())
ANNOTATIONS = annotations(CHART_YAML)


def package(folder: Path, image: str = IMAGE, section: str = SECTION) -> str:
    """Package the chart; gives what the script reports."""
    done = subprocess.run(
        [sys.executable, SCRIPT, image, folder],
        input=section,
        env={"SOURCE_DATE_EPOCH": EPOCH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (1 if done.stderr else 0)
    return done.stderr


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chart")
    assert package(folder) == ""
    return folder / f"evenspread-{__version__}.tgz"


@pytest.fixture(scope="module")
def packaged(archive: Path, helm: Helm) -> Json:
    chart: Json = yaml.safe_load(helm.run("show", "chart", str(archive)))
    return chart


@pytest.mark.parametrize("name", MEMBERS)
def test_entries_have_the_members_that_artifact_hub_reads(name: str) -> None:
    required, others = MEMBERS[name]

    for entry in ANNOTATIONS[name]:
        assert required <= entry.keys() <= required | others


def test_category_and_licence_are_known() -> None:
    assert ANNOTATIONS["category"] in CATEGORIES
    assert ANNOTATIONS["license"] in (ROOT / "pyproject.toml").read_text()
    assert {change["kind"] for change in ANNOTATIONS["changes"]} <= KINDS


def test_the_image_is_the_one_that_is_rendered(helm: Helm) -> None:
    pod = by_name(helm.objects({}))["Deployment/evenspread"]["spec"]["template"]["spec"]

    images = [image["image"] for image in ANNOTATIONS["images"]]
    assert images == [container["image"] for container in pod["containers"]]


def test_each_definition_of_the_chart_is_described_and_has_an_example() -> None:
    files = [*CHART.glob("crds/*.yaml"), *CHART.glob("templates/*.yaml")]
    texts = (file.read_text() for file in files)
    defined = {
        match[1]
        for text in texts
        if "kind: CustomResourceDefinition" in text
        for match in re.finditer(r"^    kind: (\w+)$", text, re.MULTILINE)
    }

    assert {crd["kind"] for crd in ANNOTATIONS["crds"]} == defined
    assert {example["kind"] for example in ANNOTATIONS["crdsExamples"]} == defined


def test_addresses_are_in_the_repository() -> None:
    text = (CHART / "Chart.yaml").read_text()
    linked = re.findall(rf"{PROJECT_ADDRESS}/(?:blob|raw)/main/([^#\s]+)", text)

    assert len(linked) >= 5
    assert [path for path in linked if not (ROOT / path).exists()] == []
    assert set(re.findall(r"https://[\w.]+/\w+", text)) == {PROJECT_ADDRESS}


def test_the_metadata_of_the_repository_has_no_unknown_member() -> None:
    metadata: Json = yaml.safe_load((ROOT / "artifacthub-repo.yml").read_text())

    assert metadata.keys() <= {"repositoryID", "owners", "ignore"}
    assert re.fullmatch(
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|", metadata.get("repositoryID", "")
    )
    assert all(owner.keys() == {"name", "email"} for owner in metadata.get("owners", []))


def test_a_release_names_its_image_and_its_changes(packaged: Json) -> None:
    released = annotations(packaged)

    assert released["images"] == [{"name": "evenspread", "image": IMAGE}]
    assert released["changes"] == [
        {"kind": "added", "description": "One thing works."},
        {"kind": "added", "description": "`--flag` does this: an example"},
        {"kind": "fixed", "description": "Another thing works, e.g. this one"},
    ]
    unchanged = ANNOTATIONS.keys() - {"images", "changes"}
    assert {name: released[name] for name in unchanged} == {
        name: ANNOTATIONS[name] for name in unchanged
    }


def test_a_release_pulls_its_image_and_is_otherwise_the_chart(archive: Path, helm: Helm) -> None:
    where = ("--namespace", NAMESPACE, "--kube-version", KUBERNETES, "--no-hooks")
    released = by_name(read(helm.run("template", "evenspread", str(archive), *where)))

    repository, _, digest = IMAGE.partition("@")
    named = {"image": {"repository": repository, "digest": digest}}
    assert released == by_name(helm.objects(named))
    (container,) = released["Deployment/evenspread"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == IMAGE


def test_the_page_of_the_chart_is_its_readme(archive: Path, helm: Helm) -> None:
    assert helm.run("show", "readme", str(archive)).strip() == (
        (CHART / "README.md").read_text().strip()
    )


def test_equal_input_makes_equal_archives(archive: Path, tmp_path: Path) -> None:
    package(tmp_path)

    assert (tmp_path / archive.name).read_bytes() == archive.read_bytes()


def test_every_change_of_the_changelog_is_listed(tmp_path: Path, helm: Helm) -> None:
    notes = run("make", "--no-print-directory", "notes", "VERSION=Unreleased")

    assert package(tmp_path, section=notes) == ""
    (archive,) = tmp_path.iterdir()
    changes = annotations(yaml.safe_load(helm.run("show", "chart", str(archive))))["changes"]
    assert len(changes) == len(re.findall("^- ", notes, re.MULTILINE))
    assert {change["kind"] for change in changes} <= KINDS


REFUSED: dict[str, tuple[str, str, str]] = {
    "a tag": ("ghcr.io/example/evenspread:1", SECTION, "name it by digest"),
    "half a digest": (IMAGE[:-1], SECTION, "name it by digest"),
    "no changes": (IMAGE, "This section becomes 0.1.0.\n", "no changes"),
}


@pytest.mark.parametrize(("image", "section", "error"), REFUSED.values(), ids=REFUSED)
def test_an_incomplete_release_is_refused(
    image: str, section: str, error: str, tmp_path: Path
) -> None:
    assert error in package(tmp_path, image, section)
    assert list(tmp_path.iterdir()) == []
