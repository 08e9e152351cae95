"""
What to write instead for one violation of an API rule, or one value of a wrong type.

Entry points: ``suggest_correction`` and ``suggest_type``. For most rules the general fix of the
catalogue suffices. A key of matchLabelKeys (TSC008) can be invalid, listed twice, or selected as
well, also by an API server that merged it; kube-apiserver's path of such a key names no field, so
the correction does.
"""

from webhook.policy.api.labels import key_problems
from webhook.policy.api.rules import ApiViolation
from webhook.policy.catalogue import CATALOGUE, TYPE_INVALID
from webhook.policy.model import (
    AFFINITY_POLICY,
    TAINTS_POLICY,
    Constraint,
    LabelSelectorRequirement,
    PodTemplate,
)
from webhook.policy.paths import constraints_field, parse_path
from webhook.policy.selectors import IN, OPERATORS, selected_keys


def suggest_correction(violation: ApiViolation, template: PodTemplate | None, at: str) -> str:
    """
    Say what to write instead.

    Args:
        template: The pod or pod template as it is written; None if the object has none.
        at: The field path of its constraints.
    """
    key, below = violation.error.value, parse_path(violation.error.field.removeprefix(at))
    written = template.constraints if template else ()
    match below:
        case (int(entry), *_, int(index)) if violation.rule == "TSC008" and entry < len(written):
            if isinstance(key, str) and key in written[entry].match_label_keys:
                is_pod = at == constraints_field(())
                merged = template.labels.get(key) if template and is_pod else None
                return _correct_key(written[entry], key, f"matchLabelKeys[{index}]", merged)
        case (*_, "matchExpressions", int(), "operator"):
            return f"write {', '.join(OPERATORS[:-1])} or {OPERATORS[-1]}"
        case (*_, "matchExpressions", int(), "values"):
            return "write values with In and NotIn, and none with Exists and DoesNotExist"
        case _:
            pass
    return CATALOGUE[violation.rule].fix


def _correct_key(constraint: Constraint, key: str, name: str, merged: str | None) -> str:
    """Correct a key; ``merged`` is the value that an API server adds to the selector, if any."""
    if key_problems(key):
        return _correct_syntax(key, name)
    selector = constraint.label_selector
    if key not in selected_keys(selector):
        first = constraint.match_label_keys.index(key)
        return f"remove {name}: matchLabelKeys[{first}] is the same key"
    expressions = selector.match_expressions if selector else ()
    if merged is not None and LabelSelectorRequirement(key, IN, (merged,)) in expressions:
        return (
            f"to create the pod again, remove the expression of {key} from labelSelector: "
            f"kube-apiserver has added it for {name}"
        )
    return f"remove {name}, or {key} from labelSelector"


def _correct_syntax(key: str, name: str) -> str:
    meant = key.strip()
    if not meant:
        return f"remove {name}, which is empty"
    if not key_problems(meant):
        return f"write {meant} in {name}"
    return f"write the key of a label of the pods in {name}, such as pod-template-hash"


def suggest_type(problem: str, field: str) -> str:
    """
    Say what to write instead of a value of a wrong type.

    Args:
        problem: That of manifests.
        field: The path of the field; empty for the object.
    """
    rule = _RULES_OF_WORDS.get(field.rpartition(".")[2])
    if rule is not None:
        return CATALOGUE[rule].fix
    fixes = (fix for end, fix in _TYPE_FIXES.items() if problem.endswith(end))
    return next(fixes, CATALOGUE[TYPE_INVALID].fix)


_RULES_OF_WORDS = {
    "whenUnsatisfiable": "TSC003",
    AFFINITY_POLICY: "TSC007",
    TAINTS_POLICY: "TSC007",
}
"""Field with one of two words -> the rule that names them."""

_TYPE_FIXES = {
    "expected an integer, got a string": "write an integer without quotes, such as 1",
    "expected an integer, got a number": "write an integer, such as 1",
    "expected an integer, got a boolean": "write an integer, such as 1",
    "expected a string, got an integer": "write the value in quotes",
    "expected a string, got a number": "write the value in quotes",
    "expected a string, got a boolean": "write the value in quotes",
    "expected a list, got an object": "start each entry of the list with a dash",
    "expected a list, got a string": "start each entry of the list with a dash",
    "expected an object, got a string": "write a line with a key and a value for each member",
    "expected an object, got a list": "leave out the dash: there is only one",
    "expected an integer <= 2147483647": "write a smaller number: the API has 32 bits for it",
}
