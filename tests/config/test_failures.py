import pytest

from tests.config.configs import HEAD, errors_of, one_default, one_profile
from webhook.config.failures import split_choices

ERRORS = {
    "an unknown key like a known one": ("mod: apply", "3: mod: no such key: did you mean mode?"),
    "an unknown key unlike all": (
        "exempt: {pods: []}",
        "3: exempt.pods: no such key: keys here: namespaces",
    ),
    "a key of the mapping below": (
        "profiles:\n- {name: a, ownerKinds: [Job], defaultConstraints: []}",
        "4: profiles[0].ownerKinds: no such key: did you mean match.ownerKinds?",
    ),
    "a key of two mappings below": (
        "profiles:\n- {name: a, match: {matchLabels: {}}, defaultConstraints: []}",
        (
            "4: profiles[0].match.matchLabels: no such key: did you mean "
            "namespaceSelector.matchLabels or objectSelector.matchLabels?"
        ),
    ),
    "an unknown word": (
        "mode: dry-run",
        "3: mode: cannot be 'dry-run': write apply or recommend",
    ),
    "an unknown word like a known one": (
        "fieldDefaults: whenUnsatisfied",
        "3: fieldDefaults: cannot be 'whenUnsatisfied': did you mean whenUnsatisfiable?",
    ),
    "a list instead of a mapping": (
        "exempt: [kube-system]",
        "3: exempt: must be a mapping, not a list: write keys with values, as `key: value`",
    ),
    "a word instead of a list": (
        "exempt:\n  namespaces: kube-system",
        "4: exempt.namespaces: must be a list, not 'kube-system': write `- ` before each entry",
    ),
    "a mapping instead of a list": (
        "profiles:\n  # all pods\n  name: a\n  defaultConstraints: []",
        (
            "3: profiles: must be a list, not a mapping: "
            "a dash belongs before 'name' in line 5, as `- name:`"
        ),
    ),
    "an empty mapping instead of a list": (
        "profiles: {}",
        "3: profiles: must be a list, not a mapping: write []",
    ),
    "a number instead of a text": (
        "profiles:\n- name: 1\n  defaultConstraints: []",
        '4: profiles[0].name: must be a text, not 1: write "1"',
    ),
    "a boolean instead of a text": (
        "profiles:\n- {name: yes, defaultConstraints: []}",
        "4: profiles[0].name: must be a text, not true: write the word in quotes",
    ),
    "a list instead of a text": (
        "profiles:\n- {name: [], defaultConstraints: []}",
        "4: profiles[0].name: must be a text, not a list",
    ),
    "a text instead of a boolean": (
        one_profile("completeSelectors: 'yes'\n  defaultConstraints: []"),
        "5: profiles[0].completeSelectors: must be true or false, not 'yes'",
    ),
    "a missing key with an example": (
        "profiles:\n- defaultConstraints: []",
        "4: profiles[0].name: is missing: write it, as `name: cluster`",
    ),
    "a text instead of a number": (
        one_default("maxSkew: '1', topologyKey: zone, whenUnsatisfiable: ScheduleAnyway"),
        "6: profiles[0].defaultConstraints[0].maxSkew: must be a whole number, not '1'",
    ),
    "a fraction": (
        one_default("maxSkew: 1.5, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway"),
        "6: profiles[0].defaultConstraints[0].maxSkew: must be a whole number, not 1.5",
    ),
    "a number beyond 32 bits": (
        one_default("maxSkew: 2147483648, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway"),
        (
            "6: profiles[0].defaultConstraints[0].maxSkew: must fit in "
            "32 bits, and 2147483648 does not"
        ),
    ),
    "a long word with control characters": (
        f'mode: "\\e[31m{"x" * 50}"',
        f"3: mode: cannot be '\\x1b[31m{'x' * 35}...': write apply or recommend",
    ),
    "a number too long to read": (
        one_default(f"maxSkew: {'1' * 5000}, topologyKey: z, whenUnsatisfiable: ScheduleAnyway"),
        (
            "6: profiles[0].defaultConstraints[0].maxSkew: "
            f"must be a whole number, not '{'1' * 40}...'"
        ),
    ),
    "a key beside keys of no model": (
        "featureGates: {AllBeta: maybe}",
        "3: featureGates.AllBeta: must be true or false, not 'maybe'",
    ),
    "an empty text": (
        "podTemplates: [{group: '', kind: K, path: spec.pod}]",
        "3: podTemplates[0].group: is empty: write a name",
    ),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_an_error_names_its_place_and_what_to_write(text: str, message: str) -> None:
    assert errors_of(HEAD + text) == [f"etc/spread.yaml:{message}"]


def test_choices_are_read_from_a_message_of_pydantic() -> None:
    assert split_choices("'apply' or 'recommend'") == ["apply", "recommend"]
