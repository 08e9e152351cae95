"""
The feature gates: their history, the fields that they guard, and their state per version.

``GATES`` is upstream's own history, so that a cluster is judged by the version it runs. ``resolve``
computes the gates in force; ``fieldgates`` drops the fields of disabled gates.

Source: kubernetes pkg/features/kube_features.go (1.37.2), component-base featuregate; KEP-895,
KEP-3022, KEP-3094, KEP-3243.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class GatePeriod:
    """The stage and default of a gate from a version on, until its next period."""

    since: Version
    stage: Stage
    default: bool


@dataclass(frozen=True)
class GateSpec:
    """
    One row of the table.

    Attributes:
        history: The periods, oldest first. A gate in stage GA is locked to on.
        fields: The fields of a constraint that are dropped while the gate is off.
        removed_after: The last version that has the gate; the feature stays on.
        needs: A gate that must be on if this one is.
    """

    guards: str
    history: tuple[GatePeriod, ...]
    fields: tuple[str, ...] = ()
    removed_after: Version | None = None
    needs: Gate | None = None


def _history(
    *, alpha: int = 0, beta_off: int = 0, beta: int = 0, ga: int = 0
) -> tuple[GatePeriod, ...]:
    """
    Build a history from the first minor version of every period; 0 leaves the period out.

    ``beta_off`` begins a beta that is off by default.
    """
    periods = (
        (alpha, Stage.ALPHA, False),
        (beta_off, Stage.BETA, False),
        (beta, Stage.BETA, True),
        (ga, Stage.GA, True),
    )
    return tuple(
        GatePeriod(Version(1, minor), stage, default) for minor, stage, default in periods if minor
    )


_OWN_HISTORY = _history(beta=OLDEST_VERSION.minor)  # evenspread's own gates are in every version

GATES: dict[Gate, GateSpec] = {
    Gate.EVEN_PODS_SPREAD: GateSpec(
        "the whole `topologySpreadConstraints` field",
        _history(alpha=16, beta=18, ga=19),
        removed_after=Version(1, 21),
    ),
    Gate.DEFAULT_POD_TOPOLOGY_SPREAD: GateSpec(
        "the built-in `System` default constraints",
        _history(alpha=19, beta=20, ga=24),
        removed_after=Version(1, 25),
    ),
    Gate.MIN_DOMAINS: GateSpec(
        "`minDomains`",
        _history(alpha=24, beta_off=25, beta=27, ga=30),
        ("minDomains",),
        removed_after=Version(1, 31),
    ),
    Gate.NODE_INCLUSION_POLICY: GateSpec(
        "`nodeAffinityPolicy` and `nodeTaintsPolicy`",
        _history(alpha=25, beta=26, ga=33),
        ("nodeAffinityPolicy", "nodeTaintsPolicy"),
    ),
    Gate.MATCH_LABEL_KEYS: GateSpec(
        "`matchLabelKeys`", _history(alpha=25, beta=27), ("matchLabelKeys",)
    ),
    Gate.SELECTOR_MERGE: GateSpec(
        "merging `matchLabelKeys` into the selector when a pod is created",
        _history(beta=34),
        needs=Gate.MATCH_LABEL_KEYS,
    ),
    Gate.DEFAULTS: GateSpec("injection of default constraints", _OWN_HISTORY),
    Gate.ADVICE: GateSpec("warnings that need facts of the cluster", _OWN_HISTORY),
}

_REQUESTED = "feature gates"  # source of a setting; ``config`` names the flag or file instead
_ALL = {"AllAlpha": Stage.ALPHA, "AllBeta": Stage.BETA}
_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
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
        fields_off: Field of a constraint -> the gate that disables it.
    """

    version: Version
    settings: dict[Gate, GateSetting]
    on: frozenset[Gate]
    fields_off: dict[str, Gate]

    def __contains__(self, gate: Gate) -> bool:
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
    version: Version, requested: Mapping[str, bool], *, allow_locked: bool = False
) -> Gates:
    """
    Compute the gates in force for a version and an operator's configuration.

    Args:
        version: The version of the cluster; a newer one than ``NEWEST_VERSION`` counts as that.
        requested: Gate names, ``AllAlpha`` and ``AllBeta`` -> on; a gate's own name has priority.
        allow_locked: Whether a gate that Kubernetes has locked on may be switched off.

    Raises:
        GateError: A gate is unknown, does not exist yet in this version, is locked, or lacks its
            prerequisite.
    """
    periods = {gate: stage_at(gate, version) for gate in Gate}
    settings = {
        gate: GateSetting(period.stage, period.default, f"default of {version}")
        for gate, period in periods.items()
    }
    for name, on in requested.items():
        if name in _ALL:
            setting = GateSetting(_ALL[name], on, f"{name} in {_REQUESTED}")
            settings |= {
                gate: setting
                for gate, current in settings.items()
                if current.stage is setting.stage and gate not in requested
            }
        else:
            gate = _settable(name, version, on=on, allow_locked=allow_locked)
            settings[gate] = GateSetting(settings[gate].stage, on, _REQUESTED)
    _check_needs(settings)
    in_force = frozenset(gate for gate, setting in settings.items() if setting.on)
    off = {field: gate for gate in Gate if gate not in in_force for field in GATES[gate].fields}
    return Gates(version, settings, in_force, off)


def stage_at(gate: Gate, version: Version) -> GatePeriod:
    """Find the period of a gate at a version; absent and off before its first one."""
    absent = GatePeriod(OLDEST_VERSION, Stage.ABSENT, default=False)
    begun = (period for period in reversed(GATES[gate].history) if period.since <= version)
    return next(begun, absent)


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
