"""Selectors and matchLabelKeys that no machine can decide."""

from typing import Any

import pytest

from tests.build import default
from tests.docs.api_examples import API_EXAMPLES as API
from tests.fix.cases import LeftCase, assert_left, entry, listed
from tests.fix.fixed import deployment, options, reasons, run_fix
from webhook.config.configuration import Configuration
from webhook.manifests.yaml import load
from webhook.policy.api.versions import Version
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.rule_entry import Action

OTHER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: db, namespace: shop}
spec: {template: {metadata: {labels: {app: db}}, spec: {containers: []}}}
"""
RUNNING = """\
apiVersion: v1
kind: Pod
metadata: {name: dns, namespace: kube-system, labels: {app: dns}}
spec: {nodeName: a1, containers: []}
"""
CONTROLLER = "apiVersion: v1\nkind: ReplicationController"


_SHARED = "{matchLabels: {app: web}, matchExpressions: [{key: tier, operator: In, values: [x]}]}"
_TWICE = "{matchExpressions: [{key: app, operator: In, values: [web, x]}]}"


LEFT = {
    "TSC008: no label key": LeftCase(
        "TSC008", listed(entry(matchLabelKeys="[-x]")), "which label is intended"
    ),
    "TSC008: the selector requires another value": LeftCase(
        "TSC008",
        listed(entry(matchLabelKeys="[tier]", labelSelector=_SHARED)),
        "whether tier belongs here or in the selector",
        labels="{app: web, tier: front}",
        version=Version(1, 33),
    ),
    "TSC008: more than the own value, and nothing else": LeftCase(
        "TSC008",
        listed(entry(matchLabelKeys="[app]", labelSelector=_TWICE)),
        "whether app belongs here",
        version=Version(1, 33),
    ),
    "TSC008: keys without a selector, of all that could be selected": LeftCase(
        "TSC008",
        listed(entry(matchLabelKeys="[app]", labelSelector="")),
        "are in matchLabelKeys: move them",
    ),
    "TSC008: pods without labels": LeftCase(
        "TSC008",
        listed(entry(matchLabelKeys="[app]", labelSelector="")),
        "no labels",
        labels="{}",
    ),
    "TSC009: a value that is none": LeftCase(
        "TSC009",
        listed(entry(labelSelector="{matchLabels: {app: -}}")),
        "which labels are intended",
    ),
    "TSC101: it selects the pods of another one": LeftCase(
        "TSC101",
        listed(entry(labelSelector="{matchLabels: {app: db}}")),
        "it selects the pods of Deployment/db",
        cluster=OTHER,
    ),
    "TSC101: the same beside pods that run": LeftCase(
        "TSC101",
        listed(entry(labelSelector="{matchLabels: {app: db}}")),
        "it selects the pods of Deployment/db",
        cluster=f"{OTHER}---\n{RUNNING}",
    ),
    "TSC101: it selects the pods of one that has no replicas now": LeftCase(
        "TSC101",
        listed(entry(labelSelector="{matchLabels: {app: db}}")),
        "it selects the pods of Deployment/db",
        cluster=OTHER.replace("spec: {", "spec: {replicas: 0, "),
    ),
    "TSC101: other labels": LeftCase(
        "TSC101",
        listed(entry(labelSelector="{matchLabels: {run: web}}")),
        "its pods have no label run: add it to them, or write labelSelector: {matchLabels: "
        "{app: web}}",
    ),
    "TSC101: other labels beside all own ones in matchLabelKeys": LeftCase(
        "TSC101",
        listed(entry(labelSelector="{matchLabels: {run: web}}", matchLabelKeys="[app]")),
        "or write labelSelector: {matchLabels: {app: web}} and matchLabelKeys: null",
    ),
    "TSC101: a label that identifies the pods is not named": LeftCase(
        "TSC101",
        listed(entry(labelSelector="{matchLabels: {tier: back}}")),
        "it does not name app, which identifies its pods",
        labels="{app: web, tier: front}",
    ),
    "TSC101: another value of another label": LeftCase(
        "TSC101",
        listed(entry(labelSelector="{matchLabels: {app: web, tier: back}}")),
        "its pods have another tier: which is meant cannot be known",
        labels="{app: web, tier: front}",
    ),
    "TSC101: a label that the controller sets": LeftCase(
        "TSC101",
        listed(entry(labelSelector="{matchLabels: {pod-template-hash: x}}")),
        "its controller sets pod-template-hash to another value: leave it out",
    ),
    "TSC101: expressions": LeftCase(
        "TSC101",
        listed(entry(labelSelector="{matchExpressions: [{key: app, operator: DoesNotExist}]}")),
        "which pods it should select",
    ),
    "TSC102: pods without labels": LeftCase(
        "TSC102",
        listed(entry(labelSelector="")),
        "no labels",
        labels="{}",
        head=CONTROLLER,
    ),
    "TSC101: pods without labels": LeftCase(
        "TSC101",
        listed(entry(labelSelector="{matchLabels: {app: web}}")),
        "no labels",
        labels="{}",
        head=CONTROLLER,
    ),
}


@pytest.mark.parametrize("case", LEFT.values(), ids=LEFT.keys())
def test_what_a_machine_cannot_decide_is_left_with_its_reason(case: LeftCase) -> None:
    assert_left(case)


def test_a_null_selector_is_filled_in_that_only_the_api_server_rejects() -> None:
    actions = {**DEFAULT_ACTIONS, "TSC102": Action.OFF}
    silent = Configuration(actions=actions)

    outcome = run_fix(API["TSC021"].violates, options("TSC021", configuration=silent))

    assert [finding.wrote for finding in outcome.fixed] == [
        "added labelSelector: {matchLabels: {app: web}}"
    ]


def test_a_selector_that_a_profile_completes_is_left() -> None:
    profile = Profile(name="all", complete_selectors=True)
    completing = Configuration(profiles=(profile,))
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}}\n"

    outcome = run_fix(API["TSC021"].violates, options("TSC021", configuration=completing), service)

    assert reasons(outcome.left) == {"TSC021": "the profile completes it when a pod is created"}


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("TSC103", {"topology_key": "nowhere", "when_unsatisfiable": "DoNotSchedule"}),
        ("TSC117", {"match_label_keys": ("pod-template-hsh",)}),
    ],
)
def test_a_default_of_a_profile_is_left(rule: str, change: dict[str, Any]) -> None:
    giving = Configuration(profiles=(Profile(name="all", constraints=(default(**change),)),))
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"

    outcome = run_fix(deployment(""), options(rule, configuration=giving), node)

    assert reasons(outcome.left) == {rule: "change the defaults of profile all"}


@pytest.mark.parametrize(
    ("rule", "selector"), [("TSC101", "{matchLabels: {app: web}}"), ("TSC102", "{}")]
)
def test_a_selector_by_labels_that_the_workload_does_not_select_is_left(
    rule: str, selector: str
) -> None:
    written = deployment(listed(entry(labelSelector=selector)), "{app: wep}")
    refused = written.replace("spec:\n", "spec:\n  selector: {matchLabels: {app: web}}\n", 1)

    outcome = run_fix(refused, options(rule))

    reason = "first make the labels of the template match spec.selector, which requires app: web"
    assert reasons(outcome.left) == {rule: reason}


ZONAL = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3}
provisioner: ebs.csi.aws.com
"""
CLAIMS = "  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: gp3}}]\n"


SHARED = ZONAL.replace("ebs", "efs")
SOFT = "ScheduleAnyway"


@pytest.mark.parametrize(
    ("cluster", "when", "keys"),
    [
        (ZONAL, "DoNotSchedule", ""),
        ("", "DoNotSchedule", ""),
        (SHARED, "DoNotSchedule", "[controller-revision-hash]"),
        ("", SOFT, "[controller-revision-hash]"),
    ],
)
def test_a_revision_is_not_counted_apart_where_volumes_may_keep_pods(
    cluster: str, when: str, keys: str
) -> None:
    zones = {"topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": when}
    keyed = listed(entry(**zones, matchLabelKeys="[pod-template-hash]"))
    stateful = deployment(keyed).replace("Deployment", "StatefulSet") + f"\n{CLAIMS}"

    outcome = run_fix(stateful, options("TSC117"), cluster)

    written = listed(entry(**zones, matchLabelKeys=keys))
    fixed = outcome.texts["web.yaml"]
    assert load(fixed, "", 1) == load(stateful.replace(keyed, written), "", 1)
    assert [finding.rule for finding in outcome.fixed] == ["TSC117"]
