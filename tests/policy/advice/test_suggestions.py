import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import deployed, subject, workload
from webhook.policy.advice.suggestions import (
    ADD_LABELS,
    nearest_key,
    order_by_naming,
    own_selector,
    suggest_selector,
    suggest_soft,
)
from webhook.policy.kinds import JOB
from webhook.policy.model import HOSTNAME, ZONE, ObjectMeta

SELECTORS: dict[str, tuple[Json, dict[str, str]]] = {
    "a label that names it": ({"app": "web", "tier": "x"}, {"app": "web"}),
    "labels that name it": (
        {"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "a", "zone": "x"},
        {"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "a"},
    ),
    "other labels only": ({"tier": "x", "part": "y"}, {"part": "y", "tier": "x"}),
    "no labels": ({}, {}),
}


@pytest.mark.parametrize(("labels", "expected"), SELECTORS.values(), ids=SELECTORS.keys())
def test_a_selector_of_its_own(labels: Json, expected: dict[str, str]) -> None:
    assert own_selector(deployed(labels=labels)).match_labels == expected


def test_a_soft_constraint_has_no_min_domains() -> None:
    hard, least = deployed(spread(), spread(minDomains=1)).constraints

    assert suggest_soft(hard) == "whenUnsatisfiable: ScheduleAnyway"
    assert suggest_soft(least) == "whenUnsatisfiable: ScheduleAnyway\nminDomains: null"


def test_a_selector_in_yaml() -> None:
    assert suggest_selector(deployed()) == "labelSelector: {matchLabels: {app: web}}"


def test_a_selector_by_the_label_that_a_job_gives_to_its_pods() -> None:
    job = subject(workload(kind=JOB, labels={}))

    assert own_selector(job).match_labels == {"batch.kubernetes.io/job-name": "web"}


def test_no_selector_of_pods_without_labels() -> None:
    generated = replace(subject(workload(kind=JOB, labels={})), metadata=ObjectMeta())

    assert suggest_selector(generated) == suggest_selector(deployed(labels={})) == ADD_LABELS


def test_labels_that_name_come_first() -> None:
    labels = {"a": "1", "app": "web", "z": "2", "app.kubernetes.io/name": "web"}

    assert list(order_by_naming(labels)) == ["app.kubernetes.io/name", "app", "a", "z"]


CLOUD = [HOSTNAME, "topology.ebs.csi.aws.com/zone", ZONE, "example.io/rack"]
NEAREST: dict[str, tuple[str, list[str], str]] = {
    "the name alone": ("zone", CLOUD, ZONE),
    "a letter too much": ("topology.kubernetes.io/zones", CLOUD, ZONE),
    "a typing error in the prefix": ("topolgy.kubernetes.io/zone", CLOUD, ZONE),
    "the key of another": ("topology.ebs.csi.aws.com/zones", CLOUD, CLOUD[1]),
    "a name of the user's own": ("rak", CLOUD, "example.io/rack"),
    "nothing like it": ("shelf", CLOUD, ""),
    "nothing like it, with a prefix": ("example.io/shelf", CLOUD, ""),
    "no keys": ("zone", [], ""),
    "a key that is too long for one": ("zone" * 100, CLOUD, ""),
}  # fmt: skip


@pytest.mark.parametrize(("key", "keys", "meant"), NEAREST.values(), ids=NEAREST.keys())
def test_nearest(key: str, keys: list[str], meant: str) -> None:
    assert nearest_key(key, keys) == meant
