from typing import Any

from junitparser import Error, Failure, JUnitXml

from tests.spreadtest.renderers.made import EVERYTHING
from webhook.spreadtest.renderers import render_report


def read() -> Any:
    return JUnitXml.fromstring(render_report(EVERYTHING, "junit").encode())


def test_a_suite_a_file_and_a_case_a_case() -> None:
    suites = read()

    assert [suite.name for suite in suites] == ["denials", "tests/broken.yaml"]
    assert [(suite.tests, suite.failures, suite.errors) for suite in suites] == [
        (2, 1, 0), (1, 0, 1),
    ]  # fmt: skip
    assert (suites.tests, suites.failures, suites.errors) == (3, 1, 1)


def test_case_says_where_it_stands() -> None:
    passed, failed = next(iter(read()))

    assert (passed.classname, passed.name) == ("tests/denials.yaml", "in order")
    assert (failed._elem.get("file"), failed._elem.get("line")) == ("tests/denials.yaml", "8")
    assert passed.result == []


def test_failure_says_what_is_wrong() -> None:
    _, failed = next(iter(read()))
    (failure,) = failed.result

    assert isinstance(failure, Failure)
    assert failure.message == "answered otherwise than expected: verdict, denied"
    assert failure.text is not None
    assert failure.text.splitlines() == [
        "verdict: expected allow, got deny",
        "denied:", "--- expected", "+++ actual", "@@ -1 +1 @@", "-[]", "+- TSC001",
        "said: it is invalid",
    ]  # fmt: skip


def test_error_says_what_could_not_be_read() -> None:
    _, (broken,) = read()
    (error,) = broken.result

    assert isinstance(error, Error)
    assert error.message == "pod.yaml:1: a tab"
