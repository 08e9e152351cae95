"""The metrics of an audit as text."""

from webhook.telemetry.catalogue import AUDITED, SKEW
from webhook.telemetry.exposition import expose


def test_samples_are_sorted_by_their_labels() -> None:
    text = expose({SKEW: {("shop", "b", "zone"): 2, ("shop", "a", "zone"): 1}}).decode()

    assert [line for line in text.splitlines() if line.startswith("evenspread_skew{")] == [
        'evenspread_skew{namespace="shop",topology_key="zone",workload="a"} 1.0',
        'evenspread_skew{namespace="shop",topology_key="zone",workload="b"} 2.0',
    ]


def test_a_metric_without_samples_is_described() -> None:
    text = expose({}).decode()

    assert all(f"# TYPE {metric.name} gauge" in text for metric in AUDITED)
