from pathlib import Path

import pytest

from tests.cli import files
from tests.spreadtest.world import ROOT, errors_of, load, only_case
from webhook.admission.offline import OfflineReview
from webhook.spreadtest.results import CaseStatus


def case(written: str, expect: str = "{verdict: allow}") -> str:
    return f"cases:\n- name: a\n  object: {written}\n  expect: {expect}\n"


# what is written, which object is found
FOUND = {
    "the one object of a file": ("pod.yaml", "web-1"),
    "the one that is called so": ("{file: several.yaml, name: web-2}", "web-2"),
    "the one of its kind": ("{file: several.yaml, kind: Pod, name: web-1}", "web-1"),
    "as it is": ("{apiVersion: v1, kind: Pod, metadata: {name: inline}}", "inline"),
}


@pytest.mark.parametrize(("written", "name"), FOUND.values(), ids=FOUND.keys())
def test_object_is_found(written: str, name: str, folder: Path) -> None:
    (found,) = load(case(written), folder).cases

    assert isinstance(found.request, OfflineReview)
    assert found.request.document.name == name


@pytest.mark.parametrize("name", ["checkout-pod.json", "web-pod.json"])
def test_recorded_review_is_found_in_its_file(name: str, folder: Path) -> None:
    path = ROOT / "examples/reviews" / name

    (found,) = load(case(str(path)), folder).cases

    assert isinstance(found.request, OfflineReview)
    assert found.request.recorded


# what is written, expected message
ERRORS = {
    "a file that does not exist": (
        "none.yaml",
        "5: cases[0].object: '{folder}/none.yaml' is no file",
    ),
    "a folder": ("cluster", "5: cases[0].object: '{folder}/cluster' is no file"),
    "one of several objects": (
        "several.yaml",
        (
            "5: cases[0].object: names 2 objects: say which, as "
            "`{{file: several.yaml, kind: Pod, name: web-1}}`"
        ),
    ),
    "a name that no object has": (
        "{file: several.yaml, name: web-3}",
        (
            "5: cases[0].object: names no object of 'several.yaml', which has "
            "Pod shop/web-1, Pod shop/web-2"
        ),
    ),
    "an object without a pod template": (
        "service.yaml",
        "5: cases[0].object: names nothing with a pod template: write a Pod, a workload",
    ),
    "an object without a kind": (
        "{apiVersion: v1}",
        "5: cases[0].object: names nothing with a pod template",
    ),
    "a reference with another key": (
        "{file: pod.yaml, path: web-1}",
        "5: cases[0].object.path: no such key: keys here: file, kind, namespace, name",
    ),
    "a reference without a file": ("{name: web-1}", "5: cases[0].object.file: is missing"),
}


@pytest.mark.parametrize(("written", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_error(written: str, message: str, folder: Path) -> None:
    (error, *_) = errors_of(case(written), folder)

    assert error.startswith(message.format(folder=folder))


def test_few_of_many_objects_are_named(folder: Path) -> None:
    pods = [files.POD.replace("web-1", f"web-{i}") for i in range(9)]
    (folder / "many.yaml").write_text("---\n".join(pods))

    (error,) = errors_of(case("{file: many.yaml, name: db}"), folder)

    assert error.endswith(", Pod shop/web-4, ...")


def test_file_that_cannot_be_read_is_an_error_of_its_cases_only(folder: Path) -> None:
    text = f"{case('syntax.yaml')}- name: b\n  object: pod.yaml\n  expect: {{verdict: allow}}\n"

    broken, fine = load(text, folder).cases

    assert str(broken.request).startswith(f"{folder}/syntax.yaml:")
    assert isinstance(fine.request, OfflineReview)


def test_kinds_of_the_configuration_are_known(folder: Path) -> None:
    fleet = "{apiVersion: example.io/v1, kind: Fleet, spec: {pod: {spec: {containers: []}}}}"

    assert only_case(f"config: config.yaml\n{case(fleet)}", folder).status is CaseStatus.PASSED


def test_item_of_a_list_is_found(folder: Path) -> None:
    pod = files.POD.replace("\n", "\n  ").rstrip()
    (folder / "list.yaml").write_text(f"apiVersion: v1\nkind: List\nitems:\n- {pod}\n")

    (found,) = load(case("list.yaml"), folder).cases

    assert isinstance(found.request, OfflineReview)
    assert found.request.document.line() == 4
