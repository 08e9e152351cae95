"""Counting reviews."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from webhook.telemetry.calls import Calls
from webhook.telemetry.catalogue import BUCKETS, DURATION, REQUESTS

CALLS = st.tuples(
    st.sampled_from(["mutate", "validate"]),
    st.sampled_from(["Pod", "Deployment.apps"]),
    st.sampled_from(["CREATE", "UPDATE"]),
    st.sampled_from(["allow", "deny"]),
)
SECONDS = st.one_of(st.floats(0, 20), st.sampled_from(BUCKETS))


@given(st.lists(st.tuples(CALLS, SECONDS)))
def test_they_read_as_the_metrics_of_the_library_do(
    counted: list[tuple[tuple[str, str, str, str], float]],
) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    calls = Calls(REQUESTS, DURATION, ["mutate", "validate"], BUCKETS)
    ours.register(calls)
    requests = Counter(REQUESTS.name, REQUESTS.help, REQUESTS.labels, registry=theirs)
    duration = Histogram(
        DURATION.name, DURATION.help, DURATION.labels, registry=theirs, buckets=BUCKETS
    )
    for hook in ("mutate", "validate"):
        duration.labels(hook)

    for labels, seconds in counted:
        calls.count(labels, seconds)
        requests.labels(*labels).inc()
        duration.labels(labels[0]).observe(seconds)

    assert written(ours) == written(theirs)


def written(registry: CollectorRegistry) -> list[str]:
    """The samples, but for when the library began to count."""
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if "_created" not in line]
