"""The catalogue of metrics."""

from webhook.telemetry.catalogue import AUDITED, METRICS, Type


def test_every_metric_is_listed_once() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert set(AUDITED) < set(METRICS)


def test_every_type_is_in_use() -> None:
    assert {metric.type for metric in METRICS} == set(Type)
