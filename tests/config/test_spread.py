import pytest

from tests.config.configs import HEAD, check, errors_of, one_profile
from webhook.config.lifetimes import LEAST_CA_OVERLAP

ERRORS = {
    "a profile with an empty name": (
        "profiles:\n- {name: '', defaultConstraints: []}",
        "4: profiles[0].name: is empty: write a name, as `name: cluster`",
    ),
    "a profile with a name that no label may have": (
        f"profiles:\n- {{name: {'a' * 64}, defaultConstraints: []}}",
        (f"4: profiles[0].name: Invalid value: '{'a' * 40}...': must be no more than 63 bytes"),
    ),
    "two profiles of one name": (
        "profiles:\n- {name: a, defaultConstraints: []}\n- {name: a, defaultConstraints: []}",
        "5: profiles[1].name: 'a' names an earlier profile too: write another name",
    ),
    "a profile without constraints": (
        "profiles:\n- name: a",
        "4: profiles[0]: has no constraints: write defaultConstraints or schedulerConfiguration",
    ),
    "a profile with two sources of constraints": (
        one_profile("defaultConstraints: []\n  schedulerConfiguration: args.yaml"),
        (
            "6: profiles[0].schedulerConfiguration: "
            "cannot be used with defaultConstraints: remove one of the two"
        ),
    ),
    "a profile that applies to no pod": (
        one_profile("match: {ownerKinds: []}\n  defaultConstraints: []"),
        "5: profiles[0].match.ownerKinds: is empty, so no pod matches: add a name, or remove it",
    ),
    "an invalid name of a Namespace": (
        "exempt: {namespaces: [kube-system, Kube_System]}",
        (
            "3: exempt.namespaces[1]: 'Kube_System' is no name of a Namespace: "
            "write lower-case letters, digits and dashes"
        ),
    ),
    "an unknown feature gate": (
        "featureGates:\n  MinDomainsInPodTopologySpred: true",
        (
            "4: featureGates.MinDomainsInPodTopologySpred: is no feature gate: "
            "did you mean MinDomainsInPodTopologySpread?"
        ),
    ),
    "a misspelled scale-down": (
        one_profile("scaleDown: keepSpread\n  defaultConstraints: []"),
        "5: profiles[0].scaleDown: cannot be 'keepSpread': did you mean KeepSpread?",
    ),
    "a duration without a unit": (
        "caOverlap: 600",
        "3: caOverlap: must be a duration, not 600: write it as `10m`",
    ),
    "a CA overlap that is too short": (
        "caOverlap: 59s",
        "3: caOverlap: is too short for every client to load a new CA: write 60s or more",
    ),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_an_invalid_setting_has_one_error(text: str, message: str) -> None:
    assert errors_of(HEAD + text) == [f"etc/spread.yaml:{message}"]


def test_a_file_with_every_setting_is_valid() -> None:
    configuration = check(
        "mode: recommend\n"
        "exempt: {namespaces: [kube-system]}\n"
        "featureGates: {AllAlpha: true}\n"
        "caOverlap: 60s\n"
        "podTemplates: [{group: g, kind: K, path: spec.pod}]\n"
        + one_profile("match: {ownerKinds: [Job]}\n  defaultConstraints: []")
    )

    assert configuration.ca_overlap == LEAST_CA_OVERLAP
    assert configuration.configured_gates["AllAlpha"].on
    assert configuration.profiles[0].owner_kinds == frozenset({"Job"})
