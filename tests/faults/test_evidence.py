from tests.faults.cases import CASES
from tests.faults.evidence import Evidence, FaultMeasurement, Outcome, case_rows, markdown_rows

TITLES = {4: "etcd is down or paused"}


def evidence(name: str, *measured: FaultMeasurement, problem: str = "") -> Evidence:
    return Evidence(name, (4,), problem, measured)


def test_there_are_31_cases() -> None:
    assert list(CASES) == list(range(1, 32))
    assert len(set(CASES.values())) == 31


def test_the_measurements_of_one_case_are_joined() -> None:
    (row,) = case_rows(
        TITLES,
        [
            evidence("a", FaultMeasurement("8 writers", 100, 1, "admissions went on")),
            evidence("b", FaultMeasurement("8 writers", 20, 0, "ready again after 3 s")),
            Evidence("other", (5,), "it failed", (FaultMeasurement("none", 7, 7, "hung"),)),
        ],
    )
    assert (row.case, row.title, row.tests) == (4, "etcd is down or paused", ("a", "b"))
    assert (row.load, row.calls, row.failed) == ("8 writers", 120, 1)
    assert row.outcome == "admissions went on; ready again after 3 s"
    assert row.result is Outcome.HOLDS


def test_a_row_of_the_docs_has_the_figures_and_no_bar_in_a_text() -> None:
    measured = FaultMeasurement("a|b", 100, 1, "admissions went on")
    (line,) = markdown_rows(case_rows(TITLES, [evidence("a", measured)]))
    assert line == "| 4 | etcd is down or paused | a/b | 100 | 1 | admissions went on |"


def test_one_failed_test_fails_its_case() -> None:
    measured = FaultMeasurement("8 writers", 100, 0, "admissions went on")
    (row,) = case_rows(TITLES, [evidence("a", measured), evidence("b", problem="1 == 2")])
    assert row.result is Outcome.FAILED
    assert (row.calls, row.outcome) == (100, "b: 1 == 2")


def test_a_case_without_a_measurement_is_missing() -> None:
    nothing, unmeasured = case_rows(TITLES, []), case_rows(TITLES, [evidence("a")])
    for (row,) in (tuple(nothing), tuple(unmeasured)):
        assert row.result is Outcome.MISSING
        assert row.outcome == "no test shows it"
