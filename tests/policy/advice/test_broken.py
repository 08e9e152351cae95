import pytest

from webhook.policy.advice.advise import Advice, ExemptFinding
from webhook.policy.advice.broken import (
    ALL_FIELDS,
    READ_FIELDS,
    VIOLATED_FIELDS,
    BrokenFields,
    drop_misleading,
    find_broken_fields,
)
from webhook.policy.advice.findings import AdviceFinding
from webhook.policy.api import fielderrors
from webhook.policy.api.rules import API_RULES, ApiViolation
from webhook.policy.api.schema import UNKNOWN_FIELD, StrictFinding
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.paths import FieldPath

LIST = "spec.template.spec.topologySpreadConstraints"
AT: FieldPath = ("spec", "template", "spec", "topologySpreadConstraints")


def violation(rule: str, below: str) -> ApiViolation:
    return ApiViolation(rule, fielderrors.required(f"{LIST}{below}", ""))


def unknown(path: FieldPath, meant: FieldPath) -> StrictFinding:
    return StrictFinding(UNKNOWN_FIELD, path, meant)


def finding(rule: str, field: str) -> AdviceFinding:
    return AdviceFinding(rule, field, "", "")


def test_the_tables_name_rules_and_fields() -> None:
    assert VIOLATED_FIELDS.keys() == API_RULES.keys()
    assert READ_FIELDS.keys() <= CATALOGUE.keys()
    for fields in (*VIOLATED_FIELDS.values(), *READ_FIELDS.values()):
        assert fields <= ALL_FIELDS


def test_violations_break_their_fields() -> None:
    found = [violation("TSC001", "[0].maxSkew"), violation("TSC009", "[0].labelSelector.x")]
    found += [violation("TSC010", "")]
    found += [violation("TSC004", "[2].{topologyKey, whenUnsatisfiable}")]

    broken = find_broken_fields(found, (), LIST)

    assert broken.entries == {
        0: {"maxSkew", "labelSelector"},
        2: {"topologyKey", "whenUnsatisfiable"},
    }


def test_all_fields_of_a_part_of_a_patch_are_doubtful() -> None:
    found = [violation("TSC001", "[1].maxSkew")]

    assert find_broken_fields(found, (), LIST, {0}).entries == {0: ALL_FIELDS, 1: {"maxSkew"}}


def test_a_misspelled_field_breaks_what_it_means() -> None:
    found = [
        unknown((*AT, 1, "minDomain"), (*AT, 1, "minDomains")),
        unknown((*AT, 1, "labelSelector", "app"), (*AT, 1, "labelSelector", "matchLabels", "app")),
        unknown((*AT, 0, "namespaces"), ()),
    ]

    broken = find_broken_fields((), found, LIST)

    assert broken == BrokenFields({1: frozenset({"minDomains", "labelSelector"})})


def test_a_field_beside_the_list_breaks_the_constraint_that_it_is_missing_from() -> None:
    found = [unknown((*AT[:-1], "labelSelector"), (*AT, 0, "labelSelector"))]
    elsewhere = [unknown(("spec", "labelSelector"), ("spec", AT[-1], 0, "labelSelector"))]

    assert find_broken_fields((), found, LIST).entries == {0: {"labelSelector"}}
    assert find_broken_fields((), elsewhere, LIST).entries == {}


def test_a_misplaced_list_hides_it() -> None:
    broken = find_broken_fields((), [unknown(("spec", AT[-1]), AT)], LIST)

    assert broken == BrokenFields({}, hides_list=True)


BROKEN = BrokenFields({1: frozenset({"maxSkew"})})

# broken fields, rule, field, whether a finding on it misleads
MISLEADING = {
    "a rule that reads the field": (BROKEN, "TSC112", f"{LIST}[1].maxSkew", True),
    "a rule that reads another": (BROKEN, "TSC101", f"{LIST}[1].labelSelector", False),
    "a rule that is not in the table": (BROKEN, "TSC114", f"{LIST}[1].maxSkew", True),
    "another constraint": (BROKEN, "TSC112", f"{LIST}[0].maxSkew", False),
    "all constraints together": (BROKEN, "TSC106", f"{LIST}[0].maxSkew", True),
    "no constraint": (BROKEN, "TSC110", LIST, False),
    "another field of the object": (BROKEN, "TSC102", "metadata.annotations", False),
    "nothing written, with a hidden list": (BrokenFields({}, True), "TSC110", LIST, True),
    "a constraint beside a hidden list": (
        BrokenFields({}, True), "TSC101", f"{LIST}[0].labelSelector", False
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("broken", "rule", "field", "misleads"), MISLEADING.values(), ids=MISLEADING.keys()
)
def test_advice_is_dropped_if_it_misleads(
    broken: BrokenFields, rule: str, field: str, misleads: bool
) -> None:
    one = finding(rule, field)
    advice = Advice(
        denied=(one,), warned=(one,), audited=(one,), exempted=(ExemptFinding(one, "x"),)
    )

    left = drop_misleading(advice, broken, LIST)

    assert left == (Advice() if misleads else advice)


def test_advice_on_sound_constraints_stays() -> None:
    advice = Advice(warned=(finding("TSC106", LIST),))

    assert drop_misleading(advice, BrokenFields({}), LIST) is advice
