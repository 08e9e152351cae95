"""
The feature gates: their history, the fields that they guard, and their state per version.

``GATES`` is upstream's own history, so that a cluster is judged by the version it runs. ``resolve``
computes the gates in force; ``fieldgates`` drops the fields of disabled gates.

Source: kubernetes pkg/features/kube_features.go, component-base featuregate; KEP-895, KEP-3022,
KEP-3094, KEP-3243.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec

from webhook.errors import GateError
from webhook.policy.api.versions import OLDEST_VERSION, Version


class Gate(StrEnum):
    """The known gates; no other can be configured."""

    EVEN_PODS_SPREAD = "EvenPodsSpread"
    DEFAULT_POD_TOPOLOGY_SPREAD = "DefaultPodTopologySpread"
    MIN_DOMAINS = "MinDomainsInPodTopologySpread"
    NODE_INCLUSION_POLICY = "NodeInclusionPolicyInPodTopologySpread"
    MATCH_LABEL_KEYS = "MatchLabelKeysInPodTopologySpread"
    SELECTOR_MERGE = "MatchLabelKeysInPodTopologySpreadSelectorMerge"
    DEFAULTS = "EvenspreadDefaults"
    ADVICE = "EvenspreadAdvice"


class Stage(StrEnum):
    """The stage of a feature; ABSENT before its first version."""

    ABSENT = ""
    ALPHA = "ALPHA"
    BETA = "BETA"
    GA = "GA"


class GatePeriod(NamedTuple):
    """The stage and default of a gate from a version on, until its next period."""

    since: Version
    stage: Stage
    default: bool


class GateSpec(NamedTuple):
    """
    One row of the table.

    Attributes:
        guards: A description of the feature.
        fields: The fields of a constraint that are dropped while the gate is off.
        history: The periods, oldest first. A gate in stage GA is locked to on.
        removed_after: The last version that has the gate; the feature stays on.
        needs: A gate that must be on if this one is.
    """

    guards: str
    fields: tuple[str, ...]
    history: tuple[GatePeriod, ...]
    removed_after: Version | None = None
    needs: Gate | None = None


def _period(minor: int, stage: Stage, *, default: bool) -> GatePeriod:
    return GatePeriod(Version(1, minor), stage, default)


_OWN_HISTORY = (
    GatePeriod(OLDEST_VERSION, Stage.BETA, default=True),
)  # evenspread's own gates are in every version

GATES: dict[Gate, GateSpec] = {
    Gate.EVEN_PODS_SPREAD: GateSpec(
        "the whole `topologySpreadConstraints` field",
        (),
        (
            _period(16, Stage.ALPHA, default=False),
            _period(18, Stage.BETA, default=True),
            _period(19, Stage.GA, default=True),
        ),
        removed_after=Version(1, 21),
    ),
    Gate.DEFAULT_POD_TOPOLOGY_SPREAD: GateSpec(
        "the built-in `System` default constraints",
        (),
        (
            _period(19, Stage.ALPHA, default=False),
            _period(20, Stage.BETA, default=True),
            _period(24, Stage.GA, default=True),
        ),
        removed_after=Version(1, 25),
    ),
    Gate.MIN_DOMAINS: GateSpec(
        "`minDomains`",
        ("minDomains",),
        (
            _period(24, Stage.ALPHA, default=False),
            _period(25, Stage.BETA, default=False),
            _period(27, Stage.BETA, default=True),
            _period(30, Stage.GA, default=True),
        ),
        removed_after=Version(1, 31),
    ),
    Gate.NODE_INCLUSION_POLICY: GateSpec(
        "`nodeAffinityPolicy` and `nodeTaintsPolicy`",
        ("nodeAffinityPolicy", "nodeTaintsPolicy"),
        (
            _period(25, Stage.ALPHA, default=False),
            _period(26, Stage.BETA, default=True),
            _period(33, Stage.GA, default=True),
        ),
    ),
    Gate.MATCH_LABEL_KEYS: GateSpec(
        "`matchLabelKeys`",
        ("matchLabelKeys",),
        (_period(25, Stage.ALPHA, default=False), _period(27, Stage.BETA, default=True)),
    ),
    Gate.SELECTOR_MERGE: GateSpec(
        "merging `matchLabelKeys` into the selector when a pod is created",
        (),
        (_period(34, Stage.BETA, default=True),),
        needs=Gate.MATCH_LABEL_KEYS,
    ),
    Gate.DEFAULTS: GateSpec("injection of default constraints", (), _OWN_HISTORY),
    Gate.ADVICE: GateSpec("warnings that need facts of the cluster", (), _OWN_HISTORY),
}

_ALL = {"AllAlpha": Stage.ALPHA, "AllBeta": Stage.BETA}
_BOOLEANS = {
    word: value
    for value, words in (
        (True, ("1", "t", "T", "true", "TRUE", "True")),
        (False, ("0", "f", "F", "false", "FALSE", "False")),
    )
    for word in words
}  # Go strconv ParseBool


class GateSetting(NamedTuple):
    """The state of a gate: its stage at this version, whether it is on, and who set it."""

    stage: Stage
    on: bool
    source: str


class Gates(msgspec.Struct, frozen=True):
    """
    The gates in force for one server; ``Gate.MIN_DOMAINS in gates`` tests one.

    Attributes:
        version: The Kubernetes version.
        settings: The state of every known gate.
        on: The gates that are on.
        fields_off: Field of a constraint -> the gate that disables it.
    """

    version: Version
    settings: dict[Gate, GateSetting]
    on: frozenset[Gate]
    fields_off: dict[str, Gate]

    def __contains__(self, gate: Gate) -> bool:
        """Whether a gate is on."""
        return gate in self.on


def parse_gates(text: str) -> dict[str, bool]:
    """
    Parse ``A=true,B=false`` as Kubernetes components do.

    Raises:
        GateError: An entry has no ``=``, or its value is no boolean.

    Source: component-base featuregate ``Set``, cli/flag ``MapStringBool``.
    """
    requested: dict[str, bool] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, word = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise GateError(name, f"has no value: write {name}=true or {name}=false")
        if word not in _BOOLEANS:
            raise GateError(name, f"cannot be {word!r}: write {name}=true or {name}=false")
        requested[name] = _BOOLEANS[word]
    return requested


def resolve(
    version: Version,
    requested: Mapping[str, bool],
    *,
    source: str = "feature gates",
    allow_locked: bool = False,
) -> Gates:
    """
    Compute the gates in force for a version and an operator's configuration.

    Args:
        version: The version of the cluster; a newer one than ``NEWEST_VERSION`` counts as that.
        requested: Gate names, ``AllAlpha`` and ``AllBeta`` -> on; a gate's own name has priority.
        source: The origin of ``requested``, for the table of ``config check``.
        allow_locked: Whether a gate that Kubernetes has locked on may be switched off.

    Raises:
        GateError: A gate is unknown, does not exist yet in this version, is locked, or lacks its
            prerequisite.
    """
    settings = {gate: _default(gate, version) for gate in Gate}
    for name, on in sorted(requested.items(), key=lambda item: item[0] not in _ALL):
        if name in _ALL:
            _set_all(
                settings, _ALL[name], requested, GateSetting(_ALL[name], on, f"{name} in {source}")
            )
        else:
            gate = _settable(name, version, on=on, allow_locked=allow_locked)
            settings[gate] = GateSetting(settings[gate].stage, on, source)
    _check_needs(settings)
    return _gates(version, settings)


def stage_at(gate: Gate, version: Version) -> GatePeriod:
    """Find the period of a gate at a version; absent and off before its first one."""
    current = GatePeriod(OLDEST_VERSION, Stage.ABSENT, default=False)
    for period in GATES[gate].history:
        if period.since <= version:
            current = period
    return current


def _default(gate: Gate, version: Version) -> GateSetting:
    period = stage_at(gate, version)
    return GateSetting(period.stage, period.default, f"default of {version}")


def _set_all(
    settings: dict[Gate, GateSetting],
    stage: Stage,
    requested: Mapping[str, bool],
    setting: GateSetting,
) -> None:
    for gate, current in settings.items():
        if current.stage is stage and gate not in requested:
            settings[gate] = setting


def _settable(name: str, version: Version, *, on: bool, allow_locked: bool) -> Gate:
    if name not in GATES:
        raise GateError(name, "is not known", [*Gate, *_ALL])
    gate = Gate(name)
    period = stage_at(gate, version)
    if period.stage is Stage.ABSENT and on:
        first = GATES[gate].history[0].since
        raise GateError(name, f"cannot be on in Kubernetes {version}: it came with {first}")
    if period.stage is Stage.GA and not on and not allow_locked:
        raise GateError(
            name,
            f"is locked on since Kubernetes {period.since}: leave it out, "
            "or add --allow-locked-gates to hold its field back all the same",
        )
    return gate


def _check_needs(settings: Mapping[Gate, GateSetting]) -> None:
    for gate, spec in GATES.items():
        if spec.needs and settings[gate].on and not settings[spec.needs].on:
            raise GateError(
                gate,
                f"needs {spec.needs}, which is off: switch {gate} off too, or {spec.needs} on",
            )


def _gates(version: Version, settings: dict[Gate, GateSetting]) -> Gates:
    on = frozenset(gate for gate, setting in settings.items() if setting.on)
    off = {field: gate for gate, spec in GATES.items() if gate not in on for field in spec.fields}
    return Gates(version, settings, on, off)
