import json
from typing import Any

import pytest

from tests.config.configs import HARD, HEAD, SOFT, check, errors_of, one_default, one_profile
from webhook.config.policyobjects import SpreadPolicySpec, check_spread_policy, read_spread_policies
from webhook.config.spread import ProfileFields, ProfileModel
from webhook.config.spreadpolicies import SpreadPolicy
from webhook.errors import CombinedConfigError
from webhook.manifests import Document, parse
from webhook.policy.defaulting.profiles import Profile

POLICY = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicy
metadata: {name: %s}
spec:
  %s
"""


def one_policy(spec: str, name: str = "web") -> str:
    return POLICY % (name, spec)


def read(text: str) -> dict[str, SpreadPolicy]:
    items = parse(text, "policies.yaml")
    return read_spread_policies(item for item in items if isinstance(item, Document))


ERRORS = {
    "another version": (
        "apiVersion: evenspread.io/v1\nkind: SpreadPolicy\nmetadata: {name: web}",
        [
            (
                "1: apiVersion: cannot be 'evenspread.io/v1': did you mean "
                "evenspread.io/v1alpha1?; "
                "this version of evenspread reads no other"
            )
        ],
    ),
    "no spec": (
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadPolicy\nmetadata: {name: web}",
        ["1: spec: is missing: write it with at least `defaultConstraints`, which may be []"],
    ),
    "a spec that is a list": (
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadPolicy\nmetadata: {name: web}\nspec: []",
        ["4: spec: must be a mapping, not a list: write keys with values, as `key: value`"],
    ),
    "no name, and no constraints": (
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadPolicy\nspec: {order: 1}",
        [
            "1: metadata.name: is empty: write a name, as `name: cluster`",
            "3: spec.defaultConstraints: is missing: write it, as `defaultConstraints: []`",
        ],
    ),
    "a name that no label may have": (
        one_policy("defaultConstraints: []", "a" * 64),
        [
            f"4: metadata.name: Invalid value: '{'a' * 40}...': must be no more than 63 bytes",
        ],
    ),
    "the file of kube-scheduler": (
        one_policy("schedulerConfiguration: kube-scheduler.yaml\n  defaultConstraints: []"),
        [
            (
                "6: spec.schedulerConfiguration: no such key: keys here: mode, match, merge, "
                "completeSelectors, scaleDown, gangs, rules, exemptible, order, defaultConstraints"
            )
        ],
    ),
    "a field of the match": (
        one_policy("namespaceSelector: {matchLabels: {a: b}}\n  defaultConstraints: []"),
        ["6: spec.namespaceSelector: no such key: did you mean match.namespaceSelector?"],
    ),
    "fields beside the spec": (
        one_policy("defaultConstraints: []\norder: 5\nstatuss: {}\nrest: 1"),
        [
            "7: order: no such key: did you mean spec.order?",
            "8: statuss: no such key: did you mean status?",
            "9: rest: no such key: write apiVersion, kind, metadata, spec or status",
        ],
    ),
    "the action of a rule alone": (
        one_policy("rules: {TSC101: deny, TSC102: off}\n  defaultConstraints: []"),
        [
            '6: spec.rules.TSC101: must be an object: write {action: "deny"}',
            '6: spec.rules.TSC102: must be an object: write {action: "off"}',
        ],
    ),
    "an order of 33 bits": (
        one_policy("order: 2147483648\n  defaultConstraints: []"),
        ["6: spec.order: must fit in 32 bits, and 2147483648 does not"],
    ),
}


@pytest.mark.parametrize(("text", "errors"), ERRORS.values(), ids=ERRORS.keys())
def test_an_invalid_policy_is_refused_with_its_lines(text: str, errors: list[str]) -> None:
    with pytest.raises(CombinedConfigError) as caught:
        read(text)

    assert str(caught.value).splitlines() == [f"policies.yaml:{error}" for error in errors]


def test_the_errors_of_all_policies_are_collected() -> None:
    bad = one_policy(f"defaultConstraints: [{{{HARD}, labelSelector: {{}}}}]")

    with pytest.raises(CombinedConfigError) as caught:
        read(f"{bad}---{bad}---{one_policy('defaultConstraints: []')}")

    assert [error.where for error in caught.value.errors] == [
        "policies.yaml:6: spec.defaultConstraints[0].labelSelector",
        "policies.yaml:12: spec.defaultConstraints[0].labelSelector",
    ]


FIELDS = f"""match:
    namespaceSelector: {{matchLabels: {{tier: prod}}}}
    objectSelector: {{matchExpressions: [{{key: app, operator: Exists}}]}}
    ownerKinds: [ReplicaSet]
    schedulerNames: [other]
  merge: PerTopologyKey
  completeSelectors: true
  scaleDown: KeepSpread
  gangs: true
  mode: recommend
  rules: {{TSC101: {{action: deny, exemptible: false}}, TSC102: {{action: "off"}}}}
  exemptible: false
  defaultConstraints: [{SOFT}]"""


def test_a_policy_is_the_profile_of_a_file_with_the_same_fields() -> None:
    (profile,) = check(one_profile(FIELDS)).profiles

    found = read(one_policy(f"order: -5\n  {FIELDS}", "a"))

    assert found == {"a": SpreadPolicy(-5, profile)}


@pytest.mark.parametrize(
    "members",
    [
        "maxSkew: 0, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway",
        f"{HARD}, nodeAffinityPolicy: Ignore",
        "maxSkew: 1, topologyKey: a b, whenUnsatisfiable: Never, matchLabelKeys: [a b]",
    ],
)
def test_a_constraint_has_the_errors_that_it_has_in_a_file(members: str) -> None:
    spec = f"defaultConstraints:\n  - {{{members}}}"

    with pytest.raises(CombinedConfigError) as caught:
        read(one_policy(spec))

    expected = errors_of(HEAD + one_default(members))
    assert [
        error.replace("policies.yaml:7: spec.", "") for error in str(caught.value).splitlines()
    ] == [error.replace("etc/spread.yaml:6: profiles[0].", "") for error in expected]


def test_every_field_of_a_profile_is_in_both() -> None:
    common = set(ProfileFields.model_fields)

    assert set(ProfileModel.model_fields) - common == {
        "name",
        "default_constraints",
        "scheduler_configuration",
    }
    assert set(SpreadPolicySpec.model_fields) - common == {"order", "default_constraints"}


def live(spec: Any, version: str = "v1alpha1") -> Any:
    return {
        "apiVersion": f"evenspread.io/{version}",
        "kind": "SpreadPolicy",
        "metadata": {"name": "web"},
        "spec": spec,
    }


def test_a_policy_of_an_api_server_is_read_without_its_nulls() -> None:
    found = check_spread_policy(live({"order": None, "defaultConstraints": []}))

    assert found == SpreadPolicy(0, Profile(name="web"))
    assert found.name == "web"


BROKEN = {
    "a value of another type": (live({"order": "1", "defaultConstraints": []}), "spec.order: "),
    "another version": (live({}, "v2"), "apiVersion: cannot be 'evenspread.io/v2': "),
    "no object": (live(5), "spec: must be a mapping, not 5: "),
    "an unknown field": (live({"modes": "x", "defaultConstraints": []}), "spec.modes: no such key"),
}


@pytest.mark.parametrize(("value", "problem"), BROKEN.values(), ids=BROKEN.keys())
def test_the_error_of_an_object_names_its_path_only(value: Any, problem: str) -> None:
    with pytest.raises(CombinedConfigError) as caught:
        check_spread_policy(value)

    assert str(caught.value).startswith(problem)


def test_of_two_policies_with_the_same_name_the_first_one_counts() -> None:
    first, second = (one_policy(f"order: {n}\n  defaultConstraints: []") for n in (1, 2))

    assert [policy.order for policy in read(f"{first}---{second}").values()] == [1]


def test_other_objects_are_no_policies() -> None:
    service = json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}})

    assert read(service) == {}


LONG = "x" * 1_000_000
MOST_CHARS = 1000  # of a message
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}


@pytest.mark.parametrize(
    "spec",
    [
        {"defaultConstraints": [{**SPREAD, member: value}]}
        for member, value in {
            "topologyKey": LONG,
            "whenUnsatisfiable": LONG,
            "nodeTaintsPolicy": LONG,
            "matchLabelKeys": [LONG],
            LONG: 1,
        }.items()
    ]
    + [
        {"match": {"objectSelector": selector}, "defaultConstraints": []}
        for selector in (
            {"matchLabels": {"a": LONG}},
            {"matchLabels": {LONG: "a"}},
            {"matchExpressions": [{"key": LONG, "operator": "Exists"}]},
            {"matchExpressions": [{"key": "a", "operator": LONG}]},
            {"matchExpressions": [{"key": "a", "operator": "In", "values": [LONG]}]},
        )
    ]
    + [{"mode": LONG, "defaultConstraints": []}, {"rules": {LONG: {}}, "defaultConstraints": []}],
)
def test_a_message_has_only_the_beginning_of_a_long_value(spec: dict[str, Any]) -> None:
    """A definition without a schema accepts it, and servers log the message."""
    written = {
        "apiVersion": "evenspread.io/v1alpha1",
        "kind": "SpreadPolicy",
        "metadata": {"name": "web"},
        "spec": spec,
    }

    with pytest.raises(CombinedConfigError) as caught:
        check_spread_policy(written)

    assert all(len(str(error)) < MOST_CHARS for error in caught.value.errors)
