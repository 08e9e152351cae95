"""What people and programs read of a comparison."""

import json

import pytest

from tests.bench.creator import Turn
from tests.bench.kyverno.comparison import Measurement
from tests.bench.kyverno.figures import as_json, figures, show

ALONE = Measurement("nothing", [Turn([0.003], 0.004, 600), Turn([0.009], 0.004, 500)], [])
CALLED = Measurement(
    "evenspread",
    [Turn([0.005], 0.006, 400, 0.0005), Turn([0.011], 0.006, 300, 0.0005)],
    [128.0, 133.0],
)


def test_added_is_the_difference_within_a_round() -> None:
    alone, called = figures([ALONE, CALLED])

    assert (alone.added, alone.webhook, alone.resident) == (0, None, None)
    assert called.added == pytest.approx(2)
    assert called.p50 == pytest.approx(8)
    assert (called.apiserver, called.webhook) == pytest.approx((6, 0.5))
    assert (called.rate, called.resident) == (350, 133)


def test_each_number_of_services_has_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    show({2: figures([ALONE]), 1000: figures([ALONE, CALLED])})

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["2", "nothing", "1,000", "nothing", "evenspread"]
    assert lines[-1] == ["evenspread", "2.0", "6.0", "0.5", "350", "133"]
    assert lines[-2] == ["nothing", "0.0", "4.0", "-", "550", "-"]


def test_programs_read_the_figures_by_the_number_of_services() -> None:
    document = json.loads(as_json({2: figures([ALONE, CALLED])}))

    assert [row["name"] for row in document["services"]["2"]] == ["nothing", "evenspread"]
    assert document["services"]["2"][0]["webhook"] is None
