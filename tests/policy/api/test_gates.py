from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.errors import GateError
from webhook.policy.api.gates import GATES, Gate, Stage, parse_gates, resolve, stage_at
from webhook.policy.api.versions import NEWEST_VERSION, Version

ALPHA, BETA, GA, ABSENT = Stage.ALPHA, Stage.BETA, Stage.GA, Stage.ABSENT

HISTORY = {
    Gate.EVEN_PODS_SPREAD: {
        16: (ALPHA, False),
        17: (ALPHA, False),
        18: (BETA, True),
        19: (GA, True),
    },
    Gate.DEFAULT_POD_TOPOLOGY_SPREAD: {
        18: (ABSENT, False),
        19: (ALPHA, False),
        20: (BETA, True),
        23: (BETA, True),
        24: (GA, True),
    },
    Gate.MIN_DOMAINS: {
        23: (ABSENT, False),
        24: (ALPHA, False),
        25: (BETA, False),
        26: (BETA, False),
        27: (BETA, True),
        29: (BETA, True),
        30: (GA, True),
        37: (GA, True),
    },
    Gate.NODE_INCLUSION_POLICY: {
        24: (ABSENT, False),
        25: (ALPHA, False),
        26: (BETA, True),
        32: (BETA, True),
        33: (GA, True),
        37: (GA, True),
    },
    Gate.MATCH_LABEL_KEYS: {
        24: (ABSENT, False),
        25: (ALPHA, False),
        26: (ALPHA, False),
        27: (BETA, True),
        37: (BETA, True),
    },
    Gate.SELECTOR_MERGE: {33: (ABSENT, False), 34: (BETA, True), 37: (BETA, True)},
    Gate.DEFAULTS: {16: (BETA, True), 37: (BETA, True)},
    Gate.ADVICE: {16: (BETA, True), 37: (BETA, True)},
}
"""Gate -> minor version -> stage and default, as in the release notes."""

POINTS = [(gate, minor, *row) for gate, rows in HISTORY.items() for minor, row in rows.items()]


@pytest.mark.parametrize(("gate", "minor", "stage", "on"), POINTS)
def test_a_gate_follows_the_history_of_kubernetes(
    gate: Gate, minor: int, stage: Stage, on: bool
) -> None:
    setting = resolve(Version(1, minor), {}).settings[gate]

    assert (setting.stage, setting.on) == (stage, on)
    assert setting.source == f"default of 1.{minor}"


# gate -> its name, what it guards, its fields, the last version that has it
ROWS = {
    Gate.EVEN_PODS_SPREAD: (
        "EvenPodsSpread", "the whole `topologySpreadConstraints` field", (), "1.21",
    ),
    Gate.DEFAULT_POD_TOPOLOGY_SPREAD: (
        "DefaultPodTopologySpread", "the built-in `System` default constraints", (), "1.25",
    ),
    Gate.MIN_DOMAINS: (
        "MinDomainsInPodTopologySpread", "`minDomains`", ("minDomains",), "1.31",
    ),
    Gate.NODE_INCLUSION_POLICY: (
        "NodeInclusionPolicyInPodTopologySpread", "`nodeAffinityPolicy` and `nodeTaintsPolicy`",
        ("nodeAffinityPolicy", "nodeTaintsPolicy"), "",
    ),
    Gate.MATCH_LABEL_KEYS: (
        "MatchLabelKeysInPodTopologySpread", "`matchLabelKeys`", ("matchLabelKeys",), "",
    ),
    Gate.SELECTOR_MERGE: (
        "MatchLabelKeysInPodTopologySpreadSelectorMerge",
        "merging `matchLabelKeys` into the selector when a pod is created", (), "",
    ),
    Gate.DEFAULTS: ("EvenspreadDefaults", "injection of default constraints", (), ""),
    Gate.ADVICE: ("EvenspreadAdvice", "warnings that need facts of the cluster", (), ""),
}  # fmt: skip


def test_a_gate_has_its_row() -> None:
    assert {
        gate: (
            gate.value,
            spec.guards,
            spec.fields,
            str(spec.removed_after or ""),
        )
        for gate, spec in GATES.items()
    } == ROWS
    assert {gate: spec.needs for gate, spec in GATES.items() if spec.needs} == {
        Gate.SELECTOR_MERGE: Gate.MATCH_LABEL_KEYS
    }


def test_a_stage_is_named_as_in_the_metrics_of_kubernetes() -> None:
    assert [*Stage] == ["", "ALPHA", "BETA", "GA"]


def test_a_history_has_no_other_periods() -> None:
    assert {gate: len(spec.history) for gate, spec in GATES.items()} == {
        gate: len({row for row in rows.values() if row[0] is not ABSENT})
        for gate, rows in HISTORY.items()
    }


def test_every_gate_has_a_row_and_a_history() -> None:
    assert set(GATES) == set(HISTORY) == set(Gate)


@pytest.mark.parametrize("gate", Gate)
def test_a_history_goes_forward(gate: Gate) -> None:
    history = GATES[gate].history

    assert all(one.since < other.since for one, other in pairwise(history))
    assert all(period.default for period in history if period.stage is GA)


def test_a_version_yet_to_come_is_judged_as_the_newest() -> None:
    assert resolve(Version(2, 5), {}).on == resolve(NEWEST_VERSION, {}).on


TEXTS: dict[str, tuple[str, dict[str, bool]]] = {
    "an empty text sets no gate": ("", {}),
    "one gate": ("MinDomains=true", {"MinDomains": True}),
    "several gates, spaces, an empty part": (" A=T ,B = 0,, ", {"A": True, "B": False}),
    "the last of equal names counts": ("A=true,A=false", {"A": False}),
    "every word of Go's ParseBool": (
        "a=1,b=t,c=T,d=true,e=TRUE,f=True,g=0,h=f,i=F,j=false,k=FALSE,l=False",
        {**dict.fromkeys("abcdef", True), **dict.fromkeys("ghijkl", False)},
    ),
}


@pytest.mark.parametrize(("text", "requested"), TEXTS.values(), ids=TEXTS.keys())
def test_gates_are_read_as_by_kubernetes(text: str, requested: dict[str, bool]) -> None:
    assert parse_gates(text) == requested


BAD_TEXTS = {
    "a name alone": ("A", "feature gate 'A' has no value: write A=true or A=false"),
    "another word": ("A=yes", "feature gate 'A' cannot be 'yes': write A=true or A=false"),
    "mixed case": ("A=tRUE", "feature gate 'A' cannot be 'tRUE': write A=true or A=false"),
    "an empty value": ("A=", "feature gate 'A' cannot be '': write A=true or A=false"),
    "two equal signs": (
        "A=true=false",
        "feature gate 'A' cannot be 'true=false': write A=true or A=false",
    ),
}


@pytest.mark.parametrize(("text", "sentence"), BAD_TEXTS.values(), ids=BAD_TEXTS.keys())
def test_a_text_that_cannot_be_parsed_is_reported(text: str, sentence: str) -> None:
    with pytest.raises(GateError) as raised:
        parse_gates(text)

    assert str(raised.value) == sentence


@given(st.dictionaries(st.sampled_from(Gate), st.booleans()))
def test_written_gates_are_read_as_themselves(requested: dict[Gate, bool]) -> None:
    written = ",".join(f"{name}={str(on).lower()}" for name, on in requested.items())

    assert parse_gates(written) == requested


NEW, OLD = Version(1, 36), Version(1, 26)

REQUESTED: dict[str, tuple[Version, dict[str, bool], Gate, tuple[bool, str]]] = {
    "by its own name": (
        OLD, {"MinDomainsInPodTopologySpread": True}, Gate.MIN_DOMAINS, (True, "feature gates")
    ),
    "with all alpha": (
        OLD, {"AllAlpha": True}, Gate.MATCH_LABEL_KEYS, (True, "AllAlpha in feature gates")
    ),
    "with all beta": (OLD, {"AllBeta": True}, Gate.MIN_DOMAINS, (True, "AllBeta in feature gates")),
    "all beta leaves alpha alone": (
        OLD, {"AllBeta": True}, Gate.MATCH_LABEL_KEYS, (False, "default of 1.26")
    ),
    "all beta leaves GA alone": (
        NEW, {"AllBeta": False}, Gate.MIN_DOMAINS, (True, "default of 1.36")
    ),
    "its own name wins over all beta, whatever the order": (
        OLD,
        {"NodeInclusionPolicyInPodTopologySpread": True, "AllBeta": False},
        Gate.NODE_INCLUSION_POLICY,
        (True, "feature gates"),
    ),
    "a gate that is GA may be requested to be on": (
        NEW, {"EvenPodsSpread": True}, Gate.EVEN_PODS_SPREAD, (True, "feature gates")
    ),
    "a gate that does not exist yet may be requested to be off": (
        OLD,
        {"MatchLabelKeysInPodTopologySpreadSelectorMerge": False},
        Gate.SELECTOR_MERGE,
        (False, "feature gates"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("version", "requested", "gate", "expected"), REQUESTED.values(), ids=REQUESTED.keys()
)
def test_a_gate_is_set(
    version: Version, requested: dict[str, bool], gate: Gate, expected: tuple[bool, str]
) -> None:
    gates = resolve(version, requested)

    assert (gates.settings[gate].on, gates.settings[gate].source) == expected
    assert (gate in gates) is expected[0]


REFUSED: dict[str, tuple[Version, dict[str, bool], str]] = {
    "an unknown gate": (
        NEW,
        {"Spread": True},
        f"feature gate 'Spread' is not known; known gates: {', '.join(Gate)}, AllAlpha, AllBeta",
    ),
    "a gate that does not exist yet": (
        Version(1, 23),
        {"MinDomainsInPodTopologySpread": True},
        (
            "feature gate 'MinDomainsInPodTopologySpread' cannot be on in Kubernetes 1.23: "
            "it came with 1.24"
        ),
    ),
    "a feature that is locked on": (
        NEW,
        {"MinDomainsInPodTopologySpread": False},
        (
            "feature gate 'MinDomainsInPodTopologySpread' is locked on since Kubernetes 1.30: "
            "leave it out, or add --allow-locked-gates to hold its field back all the same"
        ),
    ),
    "merging without the keys": (
        NEW,
        {"MatchLabelKeysInPodTopologySpread": False},
        (
            "feature gate 'MatchLabelKeysInPodTopologySpreadSelectorMerge' needs "
            "MatchLabelKeysInPodTopologySpread, which is off: switch "
            "MatchLabelKeysInPodTopologySpreadSelectorMerge off too, or "
            "MatchLabelKeysInPodTopologySpread on"
        ),
    ),
}


@pytest.mark.parametrize(("version", "requested", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_a_gate_cannot_be_set(version: Version, requested: dict[str, bool], sentence: str) -> None:
    with pytest.raises(GateError) as raised:
        resolve(version, requested)

    assert str(raised.value) == sentence


def test_a_setting_without_an_origin_comes_from_the_feature_gates() -> None:
    resolved = resolve(NEWEST_VERSION, {"EvenspreadAdvice": False})

    assert resolved.settings[Gate.ADVICE].source == "feature gates"


def test_a_locked_feature_goes_off_if_that_is_allowed() -> None:
    gates = resolve(NEW, {"NodeInclusionPolicyInPodTopologySpread": False}, allow_locked=True)

    assert gates.fields_off == {
        "nodeAffinityPolicy": Gate.NODE_INCLUSION_POLICY,
        "nodeTaintsPolicy": Gate.NODE_INCLUSION_POLICY,
    }


versions = st.builds(Version, st.just(1), st.integers(16, 40))


@given(versions, st.dictionaries(st.sampled_from([*Gate, "AllAlpha", "AllBeta"]), st.booleans()))
def test_gates_are_in_force_as_requested_or_refused(
    version: Version, requested: dict[str, bool]
) -> None:
    try:
        gates = resolve(version, requested)
    except GateError:
        return

    assert all(
        gates.settings[Gate(name)].on is on for name, on in requested.items() if name in GATES
    )
    assert Gate.SELECTOR_MERGE not in gates or Gate.MATCH_LABEL_KEYS in gates
    assert set(gates.fields_off.values()) == {
        gate for gate in Gate if gate not in gates and GATES[gate].fields
    }


@given(versions, st.sampled_from(Gate))
def test_a_feature_never_goes_back(version: Version, gate: Gate) -> None:
    order = list(Stage)
    later = Version(version.major, version.minor + 1)

    assert order.index(stage_at(gate, version).stage) <= order.index(stage_at(gate, later).stage)
    assert stage_at(gate, version).default <= stage_at(gate, later).default
