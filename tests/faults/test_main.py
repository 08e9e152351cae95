from io import StringIO

import pytest
from rich.console import Console

from tests.faults.__main__ import make_parser, print_table
from tests.faults.evidence import Evidence, FaultMeasurement, case_rows


def test_the_table_shows_what_holds_what_failed_and_what_is_missing() -> None:
    titles = {1: "API server restarts", 2: "watch answered with 410 Gone", 3: "etcd compacts"}
    measured = FaultMeasurement("50 writers", 1234, 5, "ready again after 3 s")
    found = [Evidence("a", (1,), "", (measured,)), Evidence("b", (2,), "1 == 2", ())]
    printed = StringIO()
    print_table(list(case_rows(titles, found)), Console(width=160, file=printed))

    lines = printed.getvalue().splitlines()
    (held,) = (line for line in lines if "API server restarts" in line)
    assert "50 writers" in held
    assert "1234" in held
    assert any("FAILED" in line and "b: 1 == 2" in line for line in lines)
    assert any("missing" in line and "no test shows it" in line for line in lines)
    assert lines[-1] == "1 of 3 fault cases hold"


def test_without_a_case_all_are_shown() -> None:
    assert make_parser().parse_args([]).cases == []
    assert make_parser().parse_args(["1", "31"]).cases == [1, 31]


def test_an_unknown_case_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        make_parser().parse_args(["32"])

    assert "'32' is no case: they are 1 to 31" in capsys.readouterr().err
