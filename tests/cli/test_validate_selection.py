"""Selection of the objects to validate, by namespace and labels, and by their findings."""

from pathlib import Path

import pytest

from tests.cli import files
from tests.cli.conftest import Run


def test_labels_select_the_objects_to_check(folder: Path, run: Run) -> None:
    other = files.POD.replace("app: web", "app: db").replace("web-1", "db-1") + files.BROKEN
    (folder / "pods.yaml").write_text(f"{files.POD}---\n{other}")

    web = run("validate", "pods.yaml", "-l", "app=web")
    db = run("validate", "pods.yaml", "-l", "app!=web")

    assert (web.code, db.code) == (0, 1)
    assert db.out.endswith("1 denied, 0 with warnings only\n")


BROKEN = files.POD + files.BROKEN
PLACED = BROKEN.replace("namespace: shop", "namespace: ops")
UNPLACED = BROKEN.replace("  namespace: shop\n", "")
SERVICE = files.SERVICE.replace(", namespace: shop", "")


# objects, names of those in the namespace shop
NAMESPACES = {
    "of the namespace": ((BROKEN, PLACED), ["shop/web-1"]),
    "without a namespace": ((UNPLACED, PLACED), ["shop/web-1"]),
    "both": ((BROKEN, UNPLACED), ["shop/web-1", "shop/web-1"]),
    "other kinds": ((UNPLACED, SERVICE), ["shop/web-1", "shop/web"]),
}


@pytest.mark.parametrize(("objects", "names"), NAMESPACES.values(), ids=NAMESPACES.keys())
def test_objects_of_a_namespace_are_checked(
    objects: tuple[str, ...], names: list[str], folder: Path, run: Run
) -> None:
    (folder / "all.yaml").write_text("---\n".join(objects))

    ran = run("validate", "all.yaml", "-n", "shop", "-o", "json")

    assert ran.code == 1
    assert [f"{report['namespace']}/{report['name']}" for report in ran.documents] == names


def test_without_a_namespace_objects_stay_as_they_are(folder: Path, run: Run) -> None:
    (folder / "all.yaml").write_text(f"{UNPLACED}---\n{PLACED}")

    ran = run("validate", "all.yaml", "-o", "json")

    assert [report["namespace"] for report in ran.documents] == ["", "ops"]


def test_an_absent_namespace_is_an_error(folder: Path, run: Run) -> None:
    (folder / "all.yaml").write_text(f"{files.NODE}---\n{BROKEN}")

    ran = run("validate", "all.yaml", "-n", "shopp")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: -n: there is no namespace 'shopp': did you mean shop?\n"


DOUBTFUL = files.POD.replace("web-1", "web-2") + files.DOUBTFUL.replace("    minDomains: 2\n", "")
NAMED = f"{files.DEPLOYMENT}---\n{files.POD}---\n{DOUBTFUL}---\n{files.SERVICE}"


@pytest.mark.parametrize("version", ["1.36", "1.34..1.36"])
def test_names_are_those_of_objects_with_findings(version: str, folder: Path, run: Run) -> None:
    (folder / "all.yaml").write_text(NAMED)

    ran = run("validate", "all.yaml", "-o", "name", "--kube-version", version)

    assert ran == (1, "deployment.apps/web\npod/web-2\n", "")


def test_without_findings_there_are_no_names(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD)

    assert run("validate", "pod.yaml", "-o", "name") == (0, "", "")


def test_a_selector_that_selects_none_is_named(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD)

    ran = run("validate", "pod.yaml", "-l", "tier=nope")

    assert ran.err == "warning: pod.yaml: contains no object with a pod template that -l selects\n"


def test_wide_also_lists_objects_without_findings(folder: Path, run: Run) -> None:
    (folder / "all.yaml").write_text(f"{files.POD}---\n{BROKEN}---\n{files.SERVICE}")

    short, wide = run("validate", "all.yaml"), run("validate", "all.yaml", "-o", "wide")

    accepted = "all.yaml:1: Pod shop/web-1: accepted\n"
    assert wide.out == accepted + short.out
