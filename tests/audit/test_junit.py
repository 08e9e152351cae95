from xml.etree.ElementTree import fromstring

from hypothesis import given
from hypothesis import strategies as st

from webhook.audit import junit


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

    printable = all(char.isprintable() or char in "\n\t" for char in text)
    assert not printable or (read.text or "") == text


def test_control_characters_are_replaced() -> None:
    root = junit.document("a\x00b")

    assert fromstring(junit.as_text(root)).get("name") == "a\N{REPLACEMENT CHARACTER}b"
