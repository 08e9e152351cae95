"""Origins find the line of a field in a document and in a snapshot alike."""

import pytest

from webhook.audit.origins import Origin
from webhook.manifests import Document, parse

TEXT = """\
apiVersion: v1
kind: Pod
metadata:
  annotations:
    a: b
spec:
  topologySpreadConstraints:
    - maxSkew: 1
      labelSelector: {}
    - maxSkew: 2
"""

LINES = {
    "": 1,
    "metadata.annotations[a]": 4,
    "spec.topologySpreadConstraints": 7,
    "spec.topologySpreadConstraints[0].maxSkew": 8,
    "spec.topologySpreadConstraints[1]": 10,
    "spec.topologySpreadConstraints[0].matchLabelKeys": 8,
}


def origin(text: str = TEXT) -> Origin:
    (document,) = parse(text, "pod.yaml")
    assert isinstance(document, Document)
    return Origin.of(document, ())


@pytest.mark.parametrize("field", LINES)
def test_a_stored_origin_has_the_lines_of_its_document(field: str) -> None:
    read = origin()
    restored = Origin.restore(read.store())

    assert restored.source == "pod.yaml"
    assert restored.document is None
    assert restored.line(field) == LINES[field]


def test_an_object_without_annotations_and_constraints_has_its_own_line() -> None:
    restored = Origin.restore(origin("apiVersion: v1\nkind: Pod\n").store())

    assert restored.line("spec.topologySpreadConstraints[0]") == 1


def test_a_restored_origin_is_stored_as_it_is() -> None:
    stored = origin().store()

    assert Origin.restore(stored).store() == stored


def test_a_document_finds_the_line_of_any_field() -> None:
    assert origin().line("metadata.annotations.a") == 5


def test_the_constraints_of_another_template_are_stored_with_its_origin() -> None:
    text = """\
spec:
  other:
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
"""
    field = "spec.other.spec.topologySpreadConstraints[0]"

    other = origin(text).within(("spec", "other"))

    assert Origin.restore(other.store()).line(field) == 5


def test_a_restored_origin_serves_all_templates() -> None:
    restored = Origin.restore(origin().store())

    assert restored.within(("spec", "other")) is restored
