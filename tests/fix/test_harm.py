"""What a change makes worse."""

import pytest
from msgspec.structs import replace

from tests.build import pod, spread
from tests.policy.advice.subjects import GPU, audit, deployed, node, subject, zones
from webhook.audit.report import AuditFinding, AuditSeverity
from webhook.fix.harm import (
    NOT_SHOWN,
    UNKNOWN_NUMBER,
    UNKNOWN_PODS,
    changes_request,
    find_lost_place,
    find_worse,
    lowers_min_domains,
    makes_keys_known,
)
from webhook.policy.advice.keptpods import DELETE_PENDING
from webhook.policy.advice.subject import Subject
from webhook.policy.model import HOSTNAME

ZONES, TWO_ON_A_NODE = spread(), spread(topologyKey=HOSTNAME, maxSkew=2)
UNEVEN = zones("a1", "b1", "b2", "b3")

# rules before, rules after, rules that the same run fixes, rule that the change must not cause
WORSE: dict[str, tuple[list[str], list[str], list[str], str]] = {
    "none": (["TSC101"], [], [], ""),
    "advice": (["TSC101"], ["TSC107"], [], ""),
    "an API rule": (["TSC101"], ["TSC004"], [], "TSC004"),
    "Pending pods": (["TSC101"], ["TSC109"], ["TSC109"], "TSC109"),
    "Pending pods that were there": (["TSC101", "TSC109"], ["TSC109"], [], ""),
    "Pending pods of one more constraint": (["TSC104"], ["TSC104", "TSC104"], [], "TSC104"),
    "Pending pods that the API rules hid": (["TSC001"], ["TSC109", "TSC105"], [], ""),
    "Pending pods that closed domains hid": (["TSC105"], ["TSC109"], [], ""),
    "Pending pods of another closed domain": (
        ["TSC116"],
        ["TSC105", "TSC109"],
        ["TSC105"],
        "TSC109",
    ),
    "other Pending pods than closed domains hide": (["TSC105"], ["TSC106"], [], "TSC106"),
    "Pending pods beside closed domains": (["TSC105"], ["TSC105", "TSC109"], [], "TSC109"),
    "closed domains": (["TSC101"], ["TSC105"], [], "TSC105"),
    "closed domains that are fixed as well": (["TSC101"], ["TSC105"], ["TSC105"], ""),
}


@pytest.mark.parametrize(("before", "after", "fixed", "rule"), WORSE.values(), ids=WORSE.keys())
def test_findings_that_a_change_must_not_cause(
    before: list[str], after: list[str], fixed: list[str], rule: str
) -> None:
    found = find_worse(
        list(map(finding, before)), list(map(finding, after)), lambda one: one.rule in fixed
    )

    assert (found.reason if found else "") == (
        f"the proposed value would cause {rule}: some pods stay Pending" if rule else ""
    )


def test_pods_that_could_have_no_node_before_are_not_caused() -> None:
    pending, refused = finding("TSC106"), finding("TSC004")

    assert find_worse([finding("TSC103")], [pending], lambda one: False, had_place=False) is None
    assert find_worse([finding("TSC103")], [refused], lambda one: False, had_place=False)


MISSPELLED = spread(topologyKey="zon")

# subject before, after, whether pods can have a node only since the change
FOUND: dict[str, tuple[Subject, Subject, bool]] = {
    "a hard key": (deployed(MISSPELLED, ZONES), deployed(ZONES), True),
    "one of two hard keys": (
        deployed(MISSPELLED, spread(topologyKey="rak")), deployed(ZONES, MISSPELLED), False
    ),
    "a soft key": (
        deployed(spread(topologyKey="zon", whenUnsatisfiable="ScheduleAnyway")),
        deployed(ZONES),
        False,
    ),
    "a key that nodes have": (deployed(ZONES), deployed(), False),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "found"), FOUND.values(), ids=FOUND.keys())
def test_a_key_that_nodes_have_since_a_change(before: Subject, after: Subject, found: bool) -> None:
    assert makes_keys_known(before, after, audit(UNEVEN)) is found
    assert not makes_keys_known(before, after, audit([])), "no node is known"


def test_pods_that_waited_before_are_not_caused() -> None:
    waiting = replace(finding("TSC106"), instead=DELETE_PENDING)

    assert find_worse([finding("TSC103")], [waiting], lambda one: False) is None
    assert find_worse([finding("TSC103")], [waiting, finding("TSC106")], lambda one: False)


def test_advice_about_a_closed_domain_may_lower_min_domains() -> None:
    lowered = "nodeTaintsPolicy: Honor\nminDomains: 2"

    assert lowers_min_domains(replace(finding("TSC105"), instead=lowered))
    assert not lowers_min_domains(finding("TSC105"))
    assert not lowers_min_domains(replace(finding("TSC104"), instead="minDomains: 2"))


def test_a_narrower_selector_and_a_lower_min_domains_change_what_was_requested() -> None:
    narrower = "labelSelector: {matchLabels: {app: web}}"

    assert changes_request(replace(finding("TSC119"), instead=narrower))
    assert changes_request(replace(finding("TSC105"), instead="minDomains: 2"))
    assert not changes_request(replace(finding("TSC119"), instead="matchLabelKeys: [app]"))
    assert not changes_request(replace(finding("TSC101"), instead=narrower))


def finding(rule: str) -> AuditFinding:
    return AuditFinding(
        rule=rule,
        severity=AuditSeverity.WARN,
        field="spec",
        problem="some pods stay Pending",
        instead="",
        line=1,
        read_on="",
        fingerprint="",
    )


# subject before, after, whether replicas lose their place
LOST: dict[str, tuple[Subject, Subject, bool]] = {
    "one constraint more": (deployed(ZONES), deployed(ZONES, TWO_ON_A_NODE), True),
    "one constraint less": (deployed(ZONES, TWO_ON_A_NODE), deployed(ZONES), False),
    "no change": (deployed(ZONES, TWO_ON_A_NODE), deployed(ZONES, TWO_ON_A_NODE), False),
    "fewer replicas": (deployed(ZONES), deployed(ZONES, TWO_ON_A_NODE, replicas=5), False),
    "a Pod": (subject(pod(ZONES)), subject(pod(ZONES, TWO_ON_A_NODE)), False),
    "one replica": (deployed(ZONES, replicas=1), deployed(ZONES, TWO_ON_A_NODE), False),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "lost"), LOST.values(), ids=LOST.keys())
def test_replicas_that_may_lose_their_place(before: Subject, after: Subject, lost: bool) -> None:
    assert find_lost_place(before, after, audit(UNEVEN)) == (NOT_SHOWN if lost else None)


def test_an_unknown_number_of_replicas_is_the_reason() -> None:
    before = deployed(ZONES, replicas=None)
    after = deployed(ZONES, TWO_ON_A_NODE, replicas=None)

    assert find_lost_place(before, after, audit(UNEVEN)) == UNKNOWN_NUMBER


def test_the_number_of_pods_of_a_constraint_list_is_unknown() -> None:
    path = ("spec", "topologySpreadConstraints")
    before, after = (
        replace(deployed(*constraints, replicas=None), path=path)
        for constraints in ([ZONES], [ZONES, TWO_ON_A_NODE])
    )

    assert find_lost_place(before, after, audit(UNEVEN)) == UNKNOWN_PODS


def test_a_closed_domain_that_no_rule_reports_may_take_a_place() -> None:
    """As many replicas as fit beside it have a place by zone, but not by capacity type as well."""
    capacity = {"a1": "spot", "a2": "demand", "b1": "demand"}
    nodes = [
        replace(one, labels={**one.labels, "cap": capacity[one.name]}) for one in zones(*capacity)
    ]
    nodes.append(node("c1", "zone-c", GPU, cap="demand"))
    apart = {"matchLabelKeys": ["pod-template-hash"]}
    zonal = spread(maxSkew=2, **apart)
    before = deployed(zonal, replicas=4)
    after = deployed(zonal, spread(topologyKey="cap", **apart), replicas=4)

    assert find_lost_place(before, after, audit(nodes)) == NOT_SHOWN
    assert find_lost_place(before, before, audit(nodes)) is None


def test_closed_domains_are_no_lost_place() -> None:
    nodes = [*zones("a1", "b1"), node("c1", "zone-c", GPU)]

    assert find_lost_place(deployed(), deployed(ZONES), audit(nodes)) is None
