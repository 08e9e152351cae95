from collections.abc import Collection

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import Json, constraint, deployment, kind_of, spread
from tests.policy.advice import realistic
from tests.policy.advice.subjects import THREE, audit, check_rule, subject, workload
from tests.policy.advice.test_advise_random import contexts
from webhook.policy.advice.broken import (
    ALL_FIELDS,
    READ_FIELDS,
    VIOLATED_FIELDS,
    BrokenFields,
    find_broken_fields,
    neutralize,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.findings import AdviceFinding
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.advice.storage import StorageClass
from webhook.policy.advice.subject import Subject
from webhook.policy.api import fielderrors
from webhook.policy.api.rules import API_RULES, ApiViolation
from webhook.policy.api.schema import UNKNOWN_FIELD, StrictFinding
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import Constraint
from webhook.policy.paths import FieldPath

LIST = "spec.template.spec.topologySpreadConstraints"
AT: FieldPath = ("spec", "template", "spec", "topologySpreadConstraints")


def violation(rule: str, below: str) -> ApiViolation:
    return ApiViolation(rule, fielderrors.required(f"{LIST}{below}", ""))


def unknown(path: FieldPath, meant: FieldPath) -> StrictFinding:
    return StrictFinding(UNKNOWN_FIELD, path, meant)


def finding(rule: str, field: str) -> AdviceFinding:
    return AdviceFinding(rule, field, "", "")


def find_broken(
    violations: Collection[ApiViolation] = (), strict: Collection[StrictFinding] = ()
) -> BrokenFields:
    return find_broken_fields(violations, strict, subject(deployment()))


def test_the_tables_name_rules_and_fields() -> None:
    assert VIOLATED_FIELDS.keys() == API_RULES.keys()
    assert READ_FIELDS.keys() <= CATALOGUE.keys()
    for fields in (*VIOLATED_FIELDS.values(), *READ_FIELDS.values()):
        assert fields <= ALL_FIELDS


def test_nothing_breaks_no_field() -> None:
    assert find_broken() == BrokenFields(LIST, {})


def test_violations_break_their_fields() -> None:
    found = [violation("TSC001", "[0].maxSkew"), violation("TSC009", "[0].labelSelector.x")]
    found += [violation("TSC010", "")]
    found += [violation("TSC004", "[2].{topologyKey, whenUnsatisfiable}")]

    broken = find_broken(found)

    assert broken.entries == {
        0: {"maxSkew", "labelSelector"},
        2: {"topologyKey", "whenUnsatisfiable"},
    }


def test_all_fields_of_a_part_of_a_patch_are_doubtful() -> None:
    found = [violation("TSC001", "[1].maxSkew")]

    patch = replace(subject(deployment()), unjudged=frozenset({0}))

    assert find_broken_fields(found, (), patch).entries == {0: ALL_FIELDS, 1: {"maxSkew"}}


def test_a_misspelled_field_breaks_what_it_means() -> None:
    found = [
        unknown((*AT, 1, "minDomain"), (*AT, 1, "minDomains")),
        unknown((*AT, 1, "labelSelector", "app"), (*AT, 1, "labelSelector", "matchLabels", "app")),
        unknown((*AT, 0, "namespaces"), ()),
    ]

    broken = find_broken(strict=found)

    assert broken == BrokenFields(LIST, {1: frozenset({"minDomains", "labelSelector"})})


def test_a_field_beside_the_list_breaks_the_constraint_that_it_is_missing_from() -> None:
    found = [unknown((*AT[:-1], "labelSelector"), (*AT, 0, "labelSelector"))]
    elsewhere = [unknown(("spec", "labelSelector"), ("spec", AT[-1], 0, "labelSelector"))]

    assert find_broken(strict=found).entries == {0: {"labelSelector"}}
    assert find_broken(strict=elsewhere).entries == {}


def test_a_misplaced_list_hides_it() -> None:
    broken = find_broken(strict=[unknown(("spec", AT[-1]), AT)])

    assert broken == BrokenFields(LIST, {}, hides_list=True)


BROKEN = BrokenFields(LIST, {1: frozenset({"maxSkew"})})
BROKEN_ACTION = BrokenFields(LIST, {1: frozenset({"whenUnsatisfiable"})})
HIDDEN = BrokenFields(LIST, {}, hides_list=True)
SOFT = BrokenFields(LIST, {1: frozenset({"maxSkew"})}, soft=frozenset({1}))

# broken fields, rule, field, whether a finding on it misleads
MISLEADING = {
    "a rule that reads the field": (BROKEN, "TSC112", f"{LIST}[1].maxSkew", True),
    "a rule that reads another": (BROKEN, "TSC101", f"{LIST}[1].labelSelector", False),
    "a rule that reads only the domains": (BROKEN, "TSC120", f"{LIST}[1].topologyKey", False),
    "a rule that reads only the key": (BROKEN_ACTION, "TSC103", f"{LIST}[1].topologyKey", False),
    "a rule about volumes": (BROKEN_ACTION, "TSC108", f"{LIST}[1].whenUnsatisfiable", True),
    "a rule that is not in the table": (BROKEN, "TSC114", f"{LIST}[1].maxSkew", True),
    "another constraint": (BROKEN, "TSC112", f"{LIST}[0].maxSkew", False),
    "all hard constraints together": (BROKEN, "TSC106", f"{LIST}[0].maxSkew", True),
    "two hard constraints that conflict": (BROKEN, "TSC119", f"{LIST}[0].matchLabelKeys", True),
    "a soft constraint beside the hard ones": (SOFT, "TSC106", f"{LIST}[0].maxSkew", False),
    "no constraint": (BROKEN, "TSC110", LIST, False),
    "another field of the object": (BROKEN, "TSC102", "metadata.annotations", False),
    "nothing written, with a hidden list": (HIDDEN, "TSC110", LIST, True),
    "a constraint beside a hidden list": (HIDDEN, "TSC101", f"{LIST}[0].labelSelector", False),
}


@pytest.mark.parametrize(
    ("broken", "rule", "field", "misleads"), MISLEADING.values(), ids=MISLEADING.keys()
)
def test_advice_is_justified_unless_it_misleads(
    broken: BrokenFields, rule: str, field: str, misleads: bool
) -> None:
    assert broken.justify(finding(rule, field)) is not misleads


# constraints, the entries with broken fields that are certainly soft
ACTIONS: dict[str, tuple[list[Json], set[int]]] = {
    "soft": ([spread(whenUnsatisfiable="ScheduleAnyway", maxSkew=0)], {0}),
    "hard": ([spread(maxSkew=0)], set()),
    "misspelled": ([spread(whenUnsatisfiable="ScheduleAnywa", maxSkew=0)], set()),
}


@pytest.mark.parametrize(("constraints", "soft"), ACTIONS.values(), ids=ACTIONS.keys())
def test_only_constraints_that_are_certainly_soft_are(
    constraints: list[Json], soft: set[int]
) -> None:
    found = [violation("TSC001", "[0].maxSkew"), violation("TSC001", "[9].maxSkew")]
    entries = find_broken_fields(found, (), subject(deployment(*constraints)))
    both = [*found, violation("TSC003", "[0].whenUnsatisfiable")]

    assert entries.soft == soft
    assert find_broken_fields(both, (), subject(deployment(*constraints))).soft == frozenset()


def test_values_that_no_scheduler_takes_become_neutral() -> None:
    wrong = constraint(
        max_skew=-3, min_domains=0, node_affinity_policy="honor", node_taints_policy=""
    )
    right = constraint(max_skew=2, min_domains=3, node_taints_policy="Honor")
    judged = subject(deployment()).with_constraints((wrong, right))

    assert neutralize(judged).constraints == (
        replace(
            wrong,
            max_skew=2**31 - 1,
            min_domains=1,
            node_affinity_policy="Honor",
            node_taints_policy="Ignore",
        ),
        right,
    )
    sound = judged.with_constraints((right,))
    assert neutralize(sound) is sound


def test_no_rule_supposes_a_smaller_skew_than_may_be_intended() -> None:
    """Volumes keep 4 pods in 3 zones, which a maxSkew of 1 does not permit, and one of 2 does."""
    late = StorageClass(name="late", provisioner="x", binding_mode="WaitForFirstConsumer")
    claims = [{"spec": {"storageClassName": "late"}}]
    context = audit(THREE, storage_classes=[late])

    def find(skew: int) -> int:
        written = workload(
            spread(maxSkew=skew), kind=STATEFUL_SET, volumeClaimTemplates=claims, replicas=4
        )
        return len(check_rule("TSC108", neutralize(subject(written)), context))

    assert [find(skew) for skew in (1, 2, 0, -1)] == [1, 0, 0, 0]


ALTERNATIVES: dict[str, list[object]] = {
    "maxSkew": [1, 2, 6],
    "whenUnsatisfiable": ["DoNotSchedule", "ScheduleAnyway", "doNotSchedule", ""],
    "topologyKey": ["topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"],
    "minDomains": [None, 1, 2, 3],
    "nodeAffinityPolicy": [None, "Honor", "Ignore"],
    "nodeTaintsPolicy": [None, "Honor", "Ignore"],
    "labelSelector": [None, {}, {"matchLabels": {"app": "web"}}],
    "matchLabelKeys": [[], ["pod-template-hash"]],
}
CLOSED = {"TSC105", "TSC116", "TSC120"}  # of one constraint at most one of them is reported


def list_rules(judged: Subject, entry: int, known: AdviceContext) -> set[str]:
    """List the rules with a finding on an entry."""
    at = f"{judged.list_path}[{entry}]"
    return {
        row.id
        for row in POLICY_RULES
        if any(violation.field.startswith(at) for violation in row.check(judged, known))
    }


@given(realistic.objects(), contexts(), st.sampled_from(sorted(ALTERNATIVES)), st.data())
def test_advice_depends_on_no_other_field_than_the_table_says(
    obj: Json, known: AdviceContext, field: str, data: st.DataObject
) -> None:
    judged = subject(obj, realistic.KINDS.get(kind_of(obj)))
    for entry, written in enumerate(judged.constraints):
        value = data.draw(st.sampled_from(ALTERNATIVES[field]))
        changed = msgspec.convert({**msgspec.to_builtins(written), field: value}, Constraint)
        others = judged.constraints
        constraints = (*others[:entry], changed, *others[entry + 1 :])

        before = list_rules(judged, entry, known)
        after = list_rules(judged.with_constraints(constraints), entry, known)

        differing = (before ^ after) - CLOSED
        if bool(before & CLOSED) != bool(after & CLOSED):
            differing |= before & CLOSED | after & CLOSED
        assert {
            rule for rule in differing if field not in READ_FIELDS.get(rule, ALL_FIELDS)
        } == set()
