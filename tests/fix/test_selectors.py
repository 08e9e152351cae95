"""Remedies for selectors and matchLabelKeys."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.build import Json, default, pod, spread
from tests.docs.api_examples import API_EXAMPLES as API
from tests.fix.cases import FixCase, LeftCase, assert_fixed, assert_left, entry, listed
from tests.fix.fixed import deployment, objects, options, reasons, run_fix
from webhook.audit.snapshot import Snapshot
from webhook.config.configuration import Configuration
from webhook.fix.evaluate import Evaluation
from webhook.manifests.yaml import load
from webhook.policy.api.versions import Version
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.kinds import DEPLOYMENT, STATEFUL_SET
from webhook.policy.model import GroupKind
from webhook.policy.rule_entry import Action

OTHER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: db, namespace: shop}
spec: {template: {metadata: {labels: {app: db}}, spec: {containers: []}}}
"""
CONTROLLER = "apiVersion: v1\nkind: ReplicationController"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: web, namespace: shop}
spec:
  parallelism: 3
  template:
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: }
      containers: []
"""
_SHARED = "{matchLabels: {app: web}, matchExpressions: [{key: tier, operator: In, values: [x]}]}"
_TWICE = "{matchExpressions: [{key: app, operator: In, values: [web, x]}]}"

FIXED = {
    "TSC008: keys without a selector": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            matchLabels:
              app: web
        """,
    ),
    "TSC008: keys without a selector, one of which is all that could be selected": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [app, pod-template-hash]
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            matchLabels:
              app: web
        """,
    ),
    "TSC008: of the pod's own value in both the selector's goes": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [tier]
          labelSelector:
            matchLabels:
              app: web
              tier: front # always
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [tier]
          labelSelector:
            matchLabels:
              app: web
              # always
        """,
        labels="{app: web, tier: front}",
        version=Version(1, 33),
    ),
    "TSC008: the key goes if nothing else is selected": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys:
          - app
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
        """,
        version=Version(1, 33),
    ),
    "TSC008: a key for which only the pods are refused": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [app, pod-template-hash]
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector: {matchLabels: {app: web}}
        """,
    ),
    "TSC008: a key that joins nothing goes": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash, tier]
          labelSelector:
            {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: Exists}]}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: Exists}]}
        """,
        version=Version(1, 33),
    ),
    "TSC008: a repeated key goes": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [app, app]
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
        """,
        version=Version(1, 33),
    ),
    "TSC008: what any revision has goes": FixCase(
        "TSC008",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            matchLabels: {app: web}
            matchExpressions:
            - {key: pod-template-hash, operator: Exists}
            - {key: app, operator: Exists}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            matchLabels: {app: web}
            matchExpressions:
            - {key: app, operator: Exists}
        """,
        version=Version(1, 33),
    ),
    "TSC009: an operator in another case": FixCase(
        "TSC009",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchExpressions: [{key: app, operator: in, values: [web]}]}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}
        """,
    ),
    "TSC101: the values of another application": FixCase(
        "TSC101",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app: "old" # us
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app: "web" # us
        """,
    ),
    "TSC102: a null selector and an empty one": FixCase(
        "TSC102",
        """
        topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}
        - maxSkew: 1
          topologyKey: b
          labelSelector: # all
          whenUnsatisfiable: ScheduleAnyway
        - labelSelector: {}
          maxSkew: 1
          topologyKey: c
          whenUnsatisfiable: ScheduleAnyway
        - labelSelector:
            matchExpressions: []
          maxSkew: 1
          topologyKey: d
          whenUnsatisfiable: ScheduleAnyway
        """,
        """
        topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, """
        """labelSelector: {matchLabels: {app: web}}}
        - maxSkew: 1
          topologyKey: b
          labelSelector: # all
            matchLabels:
              app: web
          whenUnsatisfiable: ScheduleAnyway
        - labelSelector: {matchLabels: {app: web}}
          maxSkew: 1
          topologyKey: c
          whenUnsatisfiable: ScheduleAnyway
        - labelSelector:
            matchExpressions: []
            matchLabels:
              app: web
          maxSkew: 1
          topologyKey: d
          whenUnsatisfiable: ScheduleAnyway
        """,
    ),
    "TSC117: a misspelled key, and one of nothing": FixCase(
        "TSC117",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [tier, pod-template-hsh] # of the revision
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash] # of the revision
          labelSelector: {matchLabels: {app: web}}
        """,
    ),
}


@pytest.mark.parametrize("case", FIXED.values(), ids=FIXED.keys())
def test_a_finding_is_fixed_to_the_letter(case: FixCase) -> None:
    assert_fixed(case)


SIBLINGS = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: master, namespace: shop}
spec:
  selector: {matchLabels: {app: redis, role: master}}
  template: {metadata: {labels: {app: redis, role: master}}, spec: {containers: []}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: replicas, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: redis, role: replica}}
  template:
    metadata: {labels: {app: redis, role: replica, version: "7"}}
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, @}
      containers: []
"""
_REPLICAS = "labelSelector: {matchLabels: {app: redis, role: replica}}"

# rule, selector and keys as written and as fixed
OF_SIBLINGS: dict[str, tuple[str, str, str]] = {
    "null": ("TSC102", "labelSelector: ", _REPLICAS),
    "empty": ("TSC102", "labelSelector: {}", _REPLICAS),
    "another application": ("TSC101", "labelSelector: {matchLabels: {app: x}}", _REPLICAS),
    "another application, with a key": (
        "TSC101",
        "labelSelector: {matchLabels: {app: x}}, matchLabelKeys: [role]",
        "labelSelector: {matchLabels: {app: redis}}, matchLabelKeys: [role]",
    ),
    "a key alone": (
        "TSC008",
        "matchLabelKeys: [role], labelSelector: ",
        "matchLabelKeys: [role], labelSelector: {matchLabels: {app: redis}}",
    ),
}


@pytest.mark.parametrize(
    ("rule", "written", "expected"), OF_SIBLINGS.values(), ids=OF_SIBLINGS.keys()
)
def test_the_selector_written_counts_no_siblings(rule: str, written: str, expected: str) -> None:
    outcome = run_fix(SIBLINGS.replace("@", written), options(rule))

    assert outcome.texts["web.yaml"] == SIBLINGS.replace("@", expected)
    assert not outcome.left


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
    "TSC101: other labels": LeftCase(
        "TSC101",
        listed(entry(labelSelector="{matchLabels: {run: web}}")),
        "its pods have no label run: add it to them, or select others",
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


def test_the_pods_of_a_job_without_labels_are_selected_by_its_name() -> None:
    outcome = run_fix(JOB, options("TSC102"))

    by_name = "labelSelector: {matchLabels: {batch.kubernetes.io/job-name: web}}}"
    assert outcome.texts["web.yaml"] == JOB.replace("labelSelector: }", by_name)
    assert not outcome.left


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{matchLabels: {%s: web}}", "labelSelector: {matchLabels: {%s: web}}"),
        (
            "{matchLabels: {team: x, %s: web}}",
            "labelSelector: {matchLabels: {team: x}}, matchLabelKeys: [%s]",
        ),
    ],
)
@pytest.mark.parametrize("key", ["batch.kubernetes.io/job-name", "job-name"])
def test_the_name_of_a_job_is_in_the_selector_or_in_match_label_keys(
    key: str, written: str, expected: str
) -> None:
    """The value that the API server adds is known: the same pods are counted."""
    labels = JOB.replace("    spec:\n", "    metadata: {labels: {team: x}}\n    spec:\n")
    both = f"labelSelector: {written % key}, matchLabelKeys: [{key}]"

    outcome = run_fix(labels.replace("labelSelector: ", both), options("TSC008"))

    assert outcome.texts["web.yaml"] == labels.replace("labelSelector: ", expected % key)
    assert not outcome.left


@pytest.mark.parametrize(
    ("name", "key", "head"),
    [
        ("other", "job-name", ""),
        ("web-0", "apps.kubernetes.io/pod-index", "apiVersion: apps/v1\nkind: StatefulSet"),
    ],
)
def test_another_name_than_that_of_the_job_is_left(name: str, key: str, head: str) -> None:
    both = f"labelSelector: {{matchLabels: {{{key}: {name}}}}}, matchLabelKeys: [{key}]"
    text = JOB.replace("apiVersion: batch/v1\nkind: Job", head) if head else JOB

    outcome = run_fix(text.replace("labelSelector: ", both), options("TSC008"))

    reason = f"whether {key} belongs here or in the selector cannot be known"
    assert reasons(outcome.left)["TSC008"] == reason


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


ZONAL = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3}
provisioner: ebs.csi.aws.com
"""
CLAIMS = "  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: gp3}}]\n"


@pytest.mark.parametrize(("cluster", "keys"), [(ZONAL, ""), ("", "[controller-revision-hash]")])
def test_a_revision_is_not_counted_apart_where_volumes_keep_pods(cluster: str, keys: str) -> None:
    zones = {"topologyKey": "topology.kubernetes.io/zone"}
    keyed = listed(entry(**zones, matchLabelKeys="[pod-template-hash]"))
    stateful = deployment(keyed).replace("Deployment", "StatefulSet") + f"\n{CLAIMS}"

    outcome = run_fix(stateful, options("TSC117"), cluster)

    written = listed(entry(**zones, matchLabelKeys=keys))
    fixed = outcome.texts["web.yaml"]
    assert load(fixed, "", 1) == load(stateful.replace(keyed, written), "", 1)
    assert [finding.rule for finding in outcome.fixed] == ["TSC117"]


LABELLED = """\
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web, tier: front}}
spec:
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {%s}}
"""
# labels of a selector, after the fix
NARROW = {
    "another application of the same tier": ("app: wbe, tier: front", "app: web, tier: front"),
    "another tier": ("app: web, tier: back", "app: web, tier: back"),
    "a label that the pod lacks": ("app: wbe, run: web", "app: wbe, run: web"),
}


@pytest.mark.parametrize(("before", "after"), NARROW.values(), ids=NARROW.keys())
def test_other_labels_of_the_pod_stay_in_its_selector(before: str, after: str) -> None:
    assert run_fix(LABELLED % before, options("TSC101")).texts["web.yaml"] == LABELLED % after


_KEYS: st.SearchStrategy[str] = st.sampled_from(
    ["app", "app.kubernetes.io/name", "app.kubernetes.io/component", "tier"]
)
_LABELS = st.dictionaries(_KEYS, st.sampled_from("ab"))
_KINDS = st.sampled_from([DEPLOYMENT, STATEFUL_SET, GroupKind("argoproj.io", "Rollout")])
_SPREADING = st.sampled_from(
    [
        [],
        [spread(labelSelector=None)],
        [spread(labelSelector={})],
        [spread(labelSelector=None, matchLabelKeys=["tier"])],
    ]
)


@st.composite
def charts(draw: st.DrawFn) -> list[Json]:
    """Build workloads of one chart whose selectors differ in one label."""
    differs = draw(_KEYS)
    members = [(draw(_KINDS), draw(_LABELS), draw(_LABELS), draw(_SPREADING)) for _ in "abc"]
    return [
        _build_member(kind, {**selected, differs: f"x{i}"}, more, constraints)
        for i, (kind, selected, more, constraints) in enumerate(members)
    ]


def _build_member(kind: GroupKind, selected: Json, more: Json, constraints: list[Json]) -> Json:
    """Build a workload of three replicas with labels that are selected, and more."""
    return {
        "apiVersion": f"{kind.group}/v1",
        "kind": kind.kind,
        "metadata": {"name": "-".join(selected.values()), "namespace": "shop"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": selected},
            "template": pod(*constraints, labels={**more, **selected}),
        },
    }


@given(charts())
def test_no_selector_that_is_written_counts_siblings(chart: list[Json]) -> None:
    text = yaml.safe_dump_all(chart)
    outcome = run_fix(text, options("TSC008", "TSC021", "TSC102", "TSC110"))

    after = objects(outcome.texts["web.yaml"])
    evaluated = Evaluation.of_documents(after, Snapshot(), options()).evaluate_objects()
    rules = {finding.rule for one in evaluated for finding in one.findings}
    assert not rules & {"TSC102", "TSC110", "TSC113"}
