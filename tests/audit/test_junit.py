from xml.etree.ElementTree import fromstring

from hypothesis import given
from hypothesis import strategies as st

from webhook.audit import junit
from webhook.policy.escape import printable, printable_lines


def test_what_suites_hold_is_counted() -> None:
    root = junit.document("all")
    for result in ("failure", "error", "skipped"):
        suite = junit.add(root, "testsuite", name=result)
        junit.add(suite, "testcase", name="passed")
        junit.add(junit.add(suite, "testcase", name=result), result, "why", message=result)

    read = fromstring(junit.as_text(root))

    counted = ("tests", "failures", "errors", "skipped")
    assert [[suite.get(name) for name in counted] for suite in (read, *read)] == [
        ["6", "1", "1", "1"],
        ["2", "1", "0", "0"],
        ["2", "0", "1", "0"],
        ["2", "0", "0", "1"],
    ]


@given(st.text(), st.text())
def test_any_text_can_be_written(name: str, text: str) -> None:
    root = junit.document(name)
    junit.add(root, "system-out", text, message=name)

    (read,) = fromstring(junit.as_text(root))

    assert (read.get("message"), read.text or "") == (printable(name), printable_lines(text))


def test_control_characters_are_escaped() -> None:
    root = junit.document("a\x00b")

    assert fromstring(junit.as_text(root)).get("name") == r"a\x00b"
