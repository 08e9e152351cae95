import pytest

from webhook.export.validation import changed, validation_of, write_validating
from webhook.policy import kinds
from webhook.policy.model import GroupKind
from webhook.policy.rule_entry import Action

FLEET = GroupKind("example.io", "Fleet")


@pytest.mark.parametrize(
    ("kind", "resource"), [(FLEET, "*"), (kinds.DEPLOYMENT, "deployments"), (kinds.POD, "pods")]
)
def test_a_policy_is_for_the_objects_of_a_kind(kind: GroupKind, resource: str) -> None:
    made, _ = write_validating("n", kind, [changed("x != y")], [], Action.DENY)

    (rule,) = made["spec"]["matchConstraints"]["resourceRules"]
    assert (rule["apiGroups"], rule["resources"]) == ([kind.group], [resource])
    assert made["spec"]["matchConditions"] == [
        {"name": "kind", "expression": f'object.kind == "{kind.kind}"'},
        {"name": "changed", "expression": 'request.operation == "CREATE" || x != y'},
    ]


@pytest.mark.parametrize(
    ("action", "written"),
    [(Action.DENY, "Deny"), (Action.WARN, "Warn"), (Action.AUDIT, "Audit")],
)
def test_an_action_is_that_of_the_binding(action: Action, written: str) -> None:
    _, binding = write_validating("n", FLEET, [], [], action)

    assert binding["spec"] == {"policyName": "n", "validationActions": [written]}


def test_a_message_has_the_texts_of_the_catalogue() -> None:
    validation = validation_of("TSC002", "spec.list", "true")

    assert validation["expression"] == "true"
    assert validation["message"].startswith("spec.list: topologyKey is set; name the node label")
    assert validation["message"].endswith("(TSC002)")
