"""The table of kinds agrees with itself, and every derived list with the table."""

import pytest

from webhook.policy.kinds import (
    BUILT_IN_KINDS,
    BUILT_IN_OWNERS,
    BUILT_IN_TEMPLATES,
    CRON_JOB,
    CUSTOM_KINDS,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    JOB_SET,
    KIND_ROWS,
    POD,
    POD_TEMPLATE,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    SHIPPED_TEMPLATES,
    STATEFUL_SET,
    KindRow,
)
from webhook.policy.model import GroupKind
from webhook.policy.places import TemplatePatterns

PATHS = {
    "a kind of the core group": (POD, "", "/api/v1/pods"),
    "a kind of the core group in a namespace": (POD, "shop", "/api/v1/namespaces/shop/pods"),
    "a kind of a named group": (DEPLOYMENT, "", "/apis/apps/v1/deployments"),
    "a kind of a named group in a namespace": (
        DEPLOYMENT,
        "shop",
        "/apis/apps/v1/namespaces/shop/deployments",
    ),
    "a kind without namespaces": (GroupKind("", "Node"), "shop", "/api/v1/nodes"),
}


@pytest.mark.parametrize(("kind", "namespace", "path"), PATHS.values(), ids=PATHS.keys())
def test_the_request_path_of(kind: GroupKind, namespace: str, path: str) -> None:
    assert BUILT_IN_KINDS[kind].path(namespace) == path


def test_every_kind_has_one_row() -> None:
    assert len({row.group_kind for row in KIND_ROWS}) == len(KIND_ROWS)
    assert BUILT_IN_KINDS.keys() | CUSTOM_KINDS.keys() == {row.group_kind for row in KIND_ROWS}
    assert not BUILT_IN_KINDS.keys() & CUSTOM_KINDS.keys()


def test_the_named_kinds_are_those_with_a_pod_template() -> None:
    assert set(BUILT_IN_TEMPLATES) == {
        *(POD, POD_TEMPLATE, REPLICATION_CONTROLLER, DEPLOYMENT, REPLICA_SET, STATEFUL_SET),
        *(DAEMON_SET, JOB, CRON_JOB),
    }
    assert not BUILT_IN_TEMPLATES.keys() & SHIPPED_TEMPLATES.keys()


def test_kube_scheduler_reads_the_selectors_of_three_controllers() -> None:
    owners = [(row.api_version, row.kind) for row in BUILT_IN_OWNERS]

    assert owners == [
        ("v1", "ReplicationController"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
    ]


@pytest.mark.parametrize("row", [row for row in KIND_ROWS if row.selector], ids=str)
def test_a_kind_whose_selector_is_read_is_watched(row: KindRow) -> None:
    assert row.watched


def test_built_in_kinds_have_one_template() -> None:
    assert all(isinstance(places, tuple) for places in BUILT_IN_TEMPLATES.values())
    assert isinstance(SHIPPED_TEMPLATES[JOB_SET], TemplatePatterns)
