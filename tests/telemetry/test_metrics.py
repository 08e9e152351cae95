"""Metrics: their table, their labels, and their number."""

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from tests import build
from tests.server.serving import POLICY, broken_review, review
from webhook.admission import decode
from webhook.policy.api.gates import Gate, resolve
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import SYSTEM_CONSTRAINTS, Mode, Policy, Profile
from webhook.policy.facts import NoFacts, ServiceSelector
from webhook.policy.model import GroupKind
from webhook.policy.policyexceptions import PolicyException
from webhook.policy.request import AdmissionRequest, BindHook, Hook
from webhook.policy.rule_entry import Action
from webhook.policy.scaledown.binding import BindingResult, Ranking
from webhook.policy.verdict import UNTOUCHED, Verdict, judge
from webhook.telemetry.catalogue import BUCKETS, DURATION, METRICS, REQUESTS, Metric, Type
from webhook.telemetry.metrics import LocalCounter, LocalHistogram, Metrics

CREATED = {"hook": "mutate", "kind": "Pod", "operation": "CREATE"}

OURS = re.compile(r"# TYPE ((?:evenspread|kubernetes)_\S+) (\S+)")


def value(metrics: Metrics, metric: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(metric, labels)


def test_the_table_is_what_is_exposed() -> None:
    exposed = dict(OURS.findall(Metrics().exposition().decode()))

    assert exposed == {metric.name: metric.type.value for metric in METRICS}


@pytest.mark.parametrize("metric", METRICS, ids=[metric.name for metric in METRICS])
def test_names_follow_the_conventions(metric: Metric) -> None:
    assert metric.name.endswith("_total") == (metric.type is Type.COUNTER)
    assert metric.help.endswith(".")


def test_a_review_is_counted_by_hook_kind_operation_and_verdict() -> None:
    metrics = Metrics()
    decoded = decode(broken_review())

    metrics.count_review(
        decoded,
        Hook.MUTATE,
        judge(decoded, Hook.MUTATE, POLICY, NoFacts()),
        0.002,
    )

    labels = {**CREATED, "verdict": "deny", "dry_run": "false"}
    assert value(metrics, "evenspread_admission_requests_total", **labels) == 1
    duration = "evenspread_admission_duration_seconds"
    assert value(metrics, f"{duration}_sum", hook="mutate") == 0.002
    assert value(metrics, f"{duration}_bucket", hook="mutate", le="0.001") == 0
    assert value(metrics, f"{duration}_bucket", hook="mutate", le="0.0025") == 1


def test_strange_kinds_and_operations_are_one_label_value() -> None:
    metrics = Metrics()
    for i in range(100):
        decoded = AdmissionRequest(uid="u", kind=GroupKind("x", f"Kind{i}"), operation=f"DO{i}")
        metrics.count_review(decoded, Hook.VALIDATE, UNTOUCHED, 0.001)

    labels = {"hook": "validate", "kind": "other", "operation": "other", "verdict": "allow"}
    labels["dry_run"] = "false"
    assert value(metrics, "evenspread_admission_requests_total", **labels) == 100
    assert b"Kind7" not in metrics.exposition()


def test_kinds_of_the_policy_in_force_have_labels_of_their_own() -> None:
    metrics = Metrics()
    kind = GroupKind("argoproj.io", "Rollout")
    gates = resolve(NEWEST_VERSION, {}, allow_locked=False)
    metrics.show_policy("1", Policy(gates=gates, pod_templates={kind: ("spec", "template")}))

    metrics.count_review(
        AdmissionRequest(uid="u", kind=kind, operation="UPDATE"), Hook.MUTATE, UNTOUCHED, 0.001
    )

    labels = {
        "hook": "mutate",
        "kind": "Rollout.argoproj.io",
        "operation": "UPDATE",
        "verdict": "allow",
        "dry_run": "false",
    }
    assert value(metrics, "evenspread_admission_requests_total", **labels) == 1


ACTIONS = {Mode.APPLY: "deny", Mode.RECOMMEND: "would_deny"}


@pytest.mark.parametrize(("mode", "action"), ACTIONS.items(), ids=ACTIONS)
def test_findings_are_counted_by_rule_and_action(mode: Mode, action: str) -> None:
    metrics = Metrics()
    decoded = decode(broken_review())
    policy = Policy(gates=POLICY.gates, mode=mode)
    verdict = judge(decoded, Hook.MUTATE, policy, NoFacts())

    metrics.count_review(decoded, Hook.MUTATE, verdict, 0.001)

    rule = verdict.findings[0].rule
    assert value(metrics, "evenspread_rule_findings_total", rule=rule, action=action) == 1


def test_a_dry_run_is_counted_apart_and_none_of_its_reasons_are() -> None:
    metrics = Metrics()
    decoded = decode(broken_review())
    verdict = judge(decoded, Hook.MUTATE, POLICY, NoFacts())

    metrics.count_review(replace(decoded, dry_run=True), Hook.MUTATE, verdict, 0.001)

    requests = "evenspread_admission_requests_total"
    assert value(metrics, requests, verdict="deny", dry_run="true", **CREATED) == 1
    assert value(metrics, requests, verdict="deny", dry_run="false", **CREATED) is None
    assert b"evenspread_rule_findings_total{" not in metrics.exposition()


class Zoneless(NoFacts):
    """One Service, and one node without a zone."""

    def services(self, _namespace: str, labels: Mapping[str, str]) -> Sequence[ServiceSelector]:
        return [ServiceSelector("web", {"app": "web"})] if labels else []

    def schedulable_nodes(self) -> int:
        return 1


def test_injections_are_counted_by_profile_and_their_lack_by_reason() -> None:
    metrics = Metrics()
    profile = Profile(name="cluster", constraints=SYSTEM_CONSTRAINTS, system=True)
    policy = Policy(gates=POLICY.gates, profiles=(profile,))
    metadata = {"name": "a", "labels": {"app": "web"}}
    selected = {"kind": "Pod", "metadata": metadata, "spec": {}}

    for body in (review(), review(object=selected)):
        decoded = decode(body)
        metrics.count_review(
            decoded,
            Hook.MUTATE,
            judge(decoded, Hook.MUTATE, policy, Zoneless()),
            0.001,
        )

    assert value(metrics, "evenspread_defaults_skipped_total", reason="no-selector") == 1
    assert value(metrics, "evenspread_defaults_applied_total", profile="cluster") == 1
    assert value(metrics, "evenspread_defaults_zone_left_out_total") == 1


def test_dropped_fields_are_counted_by_gate() -> None:
    metrics = Metrics()
    constraint = {
        "maxSkew": 1,
        "topologyKey": "a",
        "whenUnsatisfiable": "DoNotSchedule",
        "minDomains": 2,
    }
    spec = {"topologySpreadConstraints": [constraint, {**constraint, "topologyKey": "b"}]}
    decoded = decode(review(object={"kind": "Pod", "metadata": {"name": "a"}, "spec": spec}))
    gates = resolve(NEWEST_VERSION, {Gate.MIN_DOMAINS: False}, allow_locked=True)

    verdict = judge(decoded, Hook.MUTATE, Policy(gates=gates), NoFacts())
    metrics.count_review(decoded, Hook.MUTATE, verdict, 0.001)

    gate = "MinDomainsInPodTopologySpread"
    assert value(metrics, "evenspread_fields_dropped_total", gate=gate) == 2


def test_gates_are_shown_as_the_components_of_kubernetes_show_them() -> None:
    metrics = Metrics()
    for version in (NEWEST_VERSION, Version(1, 26)):
        gates = resolve(version, {}, allow_locked=False)
        metrics.show_policy("9.9", Policy(gates=gates))

    feature = "kubernetes_feature_enabled"
    gate = "MinDomainsInPodTopologySpread"
    assert value(metrics, feature, name=gate, stage="BETA") == 0
    assert value(metrics, feature, name=gate, stage="") is None
    assert value(metrics, feature, name="DefaultPodTopologySpread", stage="") == 1
    assert value(metrics, feature, name="MatchLabelKeysInPodTopologySpreadSelectorMerge") is None
    assert value(metrics, "evenspread_build_info", version="9.9", kubernetes="1.26") == 1


@pytest.mark.parametrize("validates_pods", [False, True])
def test_advice_on_a_pod_is_counted_once(validates_pods: bool) -> None:
    elsewhere = build.spread(labelSelector={"matchLabels": {"app": "shop"}})
    decoded = decode(build.review_body(build.pod(elsewhere)))
    policy = build.policy(validates_pods=validates_pods)
    metrics = Metrics()

    for hook in Hook:
        metrics.count_review(decoded, hook, judge(decoded, hook, policy, build.facts()), 0.001)

    findings = "evenspread_rule_findings_total"
    assert value(metrics, findings, rule="TSC101", action="warn") == 1


@pytest.mark.parametrize("action", [Action.WARN, Action.AUDIT])
def test_advice_is_counted_by_rule_and_action(action: Action) -> None:
    elsewhere = build.spread(labelSelector={"matchLabels": {"app": "shop"}})
    request = decode(build.review_body(build.deployment(elsewhere), name="web"))
    policy = build.policy(actions={**DEFAULT_ACTIONS, "TSC101": action})
    metrics = Metrics()

    verdict = judge(request, Hook.VALIDATE, policy, build.facts())
    metrics.count_review(request, Hook.VALIDATE, verdict, 0.001)

    findings = "evenspread_rule_findings_total"
    assert value(metrics, findings, rule="TSC101", action=action.value) == 1


def test_exempted_findings_are_counted_apart() -> None:
    elsewhere = build.spread(labelSelector={"matchLabels": {"app": "shop"}})
    request = decode(build.review_body(build.deployment(elsewhere), name="web"))
    made = PolicyException(
        namespace=build.NAMESPACE, name="legacy", reason="old", rules=("TSC101",)
    )
    known = build.FakeFacts(excepted={build.NAMESPACE: [made]})
    metrics = Metrics()

    verdict = judge(request, Hook.VALIDATE, build.policy(), known)
    metrics.count_review(request, Hook.VALIDATE, verdict, 0.001)

    findings = "evenspread_rule_findings_total"
    assert value(metrics, findings, rule="TSC101", action="exempt") == 1
    assert value(metrics, findings, rule="TSC101", action="warn") is None


def test_an_injection_with_its_zone_is_not_counted_as_one_without() -> None:
    request = build.request(build.pod())
    verdict = judge(request, Hook.MUTATE, build.policy(build.profile()), build.facts(app="web"))
    metrics = Metrics()

    metrics.count_review(request, Hook.MUTATE, verdict, 0.001)

    applied = "evenspread_defaults_applied_total"
    assert value(metrics, applied, profile=build.profile().name) == 1
    assert value(metrics, "evenspread_defaults_zone_left_out_total") == 0


CALLS = st.tuples(
    st.sampled_from(["mutate", "validate"]),
    st.sampled_from(["Pod", "Deployment.apps"]),
    st.sampled_from(["CREATE", "UPDATE"]),
    st.sampled_from(["allow", "deny"]),
    st.sampled_from(["false", "true"]),
)
SECONDS = st.one_of(st.floats(0, 20), st.sampled_from(BUCKETS))


@given(st.lists(st.tuples(CALLS, SECONDS)))
def test_they_read_as_the_metrics_of_the_library_do(
    counted: list[tuple[tuple[str, ...], float]],
) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    counter = LocalCounter(REQUESTS)
    histogram = LocalHistogram(DURATION, ["mutate", "validate"], BUCKETS)
    ours.register(counter)
    ours.register(histogram)
    requests = Counter(REQUESTS.name, REQUESTS.help, REQUESTS.labels, registry=theirs)
    duration = Histogram(
        DURATION.name, DURATION.help, DURATION.labels, registry=theirs, buckets=BUCKETS
    )
    for hook in ("mutate", "validate"):
        duration.labels(hook)

    for labels, seconds in counted:
        counter.count(*labels)
        histogram.observe(labels[0], seconds)
        requests.labels(*labels).inc()
        duration.labels(labels[0]).observe(seconds)

    assert written(ours) == written(theirs)


def written(registry: CollectorRegistry) -> list[str]:
    """The samples, but for when the library began to count."""
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if "_created" not in line]


def test_an_audit_is_exposed_until_it_is_forgotten() -> None:
    metrics = Metrics()

    metrics.show_audit(b"# an audit\n", ended=5.0, took_s=2.0)
    shown = metrics.exposition()
    metrics.forget_audit()

    assert b"# an audit\n" in shown
    assert b"evenspread_audit_timestamp_seconds 5.0" in shown
    assert b"evenspread_audit_duration_seconds 2.0" in shown
    assert b"# an audit\n" not in metrics.exposition()


def test_lost_lines_are_read_at_each_scrape() -> None:
    metrics = Metrics()

    metrics.count_lost_lines(lambda: 3)

    assert b"evenspread_log_lines_lost_total 3.0" in metrics.exposition()


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_binding_is_counted_by_its_result(dry_run: bool) -> None:
    metrics = Metrics()
    decoded = decode(build.binding_body(dryRun=dry_run))
    verdict = Verdict(ranking=Ranking(BindingResult.NO_DOMAIN))

    metrics.count_review(decoded, BindHook.BIND, verdict, 0.001)

    assert value(metrics, "evenspread_bindings_total", result="no-domain") == 1
    labels = {"hook": "bind", "kind": "Binding", "operation": "CREATE", "verdict": "allow"}
    labels["dry_run"] = str(dry_run).lower()
    assert value(metrics, "evenspread_admission_requests_total", **labels) == 1
    assert value(metrics, "evenspread_admission_duration_seconds_count", hook="bind") == 1
