import pytest

from tests.config.configs import check
from webhook.config.configuration import Configuration
from webhook.config.gates import gates_in_force
from webhook.config.summary import gate_table
from webhook.errors import CombinedConfigError
from webhook.policy.api.gates import Gate
from webhook.policy.api.versions import parse_version

NEWEST = parse_version("1.36")
FILE = "featureGates:\n  EvenspreadAdvice: false\n  AllBeta: false\n"


def test_the_flag_overrides_the_file_gate_by_gate() -> None:
    gates = gates_in_force(check(FILE), NEWEST, "AllBeta=true")

    assert Gate.ADVICE not in gates
    assert Gate.DEFAULTS in gates


def test_every_value_names_its_place() -> None:
    flag = "MatchLabelKeysInPodTopologySpread=true"

    gates = gates_in_force(check(FILE), NEWEST, flag)

    sources = {row.name: row.source for row in gate_table(gates)}
    assert sources == {
        Gate.EVEN_PODS_SPREAD: "default of 1.36",
        Gate.DEFAULT_POD_TOPOLOGY_SPREAD: "default of 1.36",
        Gate.MIN_DOMAINS: "default of 1.36",
        Gate.NODE_INCLUSION_POLICY: "default of 1.36",
        Gate.MATCH_LABEL_KEYS: "--feature-gates",
        Gate.SELECTOR_MERGE: "AllBeta in etc/spread.yaml:5: featureGates.AllBeta",
        Gate.DEFAULTS: "AllBeta in etc/spread.yaml:5: featureGates.AllBeta",
        Gate.ADVICE: "etc/spread.yaml:4: featureGates.EvenspreadAdvice",
    }


def test_a_locked_gate_needs_permission() -> None:
    flag = "MinDomainsInPodTopologySpread=false"

    gates = gates_in_force(Configuration(), NEWEST, flag, allow_locked=True)

    assert Gate.MIN_DOMAINS not in gates


LOCKED = (
    "feature gate 'MinDomainsInPodTopologySpread' is locked on since Kubernetes 1.30: "
    "leave it out, or add --allow-locked-gates to hold its field back all the same"
)
NEEDS = (
    "feature gate 'MatchLabelKeysInPodTopologySpreadSelectorMerge' needs "
    "MatchLabelKeysInPodTopologySpread, which is off: switch "
    "MatchLabelKeysInPodTopologySpreadSelectorMerge off too, "
    "or MatchLabelKeysInPodTopologySpread on"
)

ERRORS = {
    "no value": (
        "",
        "AllBeta",
        [
            (
                "--feature-gates: feature gate 'AllBeta' has no value: write "
                "AllBeta=true or AllBeta=false"
            )
        ],
    ),
    "unknown gates in the flag": (
        "",
        "AllBetas=true,X=false",
        [
            "--feature-gates: 'AllBetas' is no feature gate: did you mean AllBeta?",
            (
                "--feature-gates: 'X' is no feature gate: write EvenPodsSpread, "
                "DefaultPodTopologySpread, MinDomainsInPodTopologySpread, "
                "NodeInclusionPolicyInPodTopologySpread, MatchLabelKeysInPodTopologySpread, "
                "MatchLabelKeysInPodTopologySpreadSelectorMerge, EvenspreadDefaults, "
                "EvenspreadAdvice, AllAlpha or AllBeta"
            ),
        ],
    ),
    "a locked gate in the file": (
        "featureGates: {MinDomainsInPodTopologySpread: false}",
        "",
        [f"etc/spread.yaml:3: featureGates.MinDomainsInPodTopologySpread: {LOCKED}"],
    ),
    "a locked gate in the file and a gate that needs another, by the flag": (
        "featureGates: {MinDomainsInPodTopologySpread: false}",
        "MatchLabelKeysInPodTopologySpread=false",
        [
            f"etc/spread.yaml:3: featureGates.MinDomainsInPodTopologySpread: {LOCKED}",
            f"--feature-gates: {NEEDS}",
        ],
    ),
}


@pytest.mark.parametrize(("text", "flag", "messages"), ERRORS.values(), ids=ERRORS.keys())
def test_gates_that_cannot_be_set_are_reported_together(
    text: str, flag: str, messages: list[str]
) -> None:
    with pytest.raises(CombinedConfigError) as caught:
        gates_in_force(check(text), NEWEST, flag)

    assert str(caught.value).splitlines() == messages
