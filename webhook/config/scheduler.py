"""
Read default constraints from a kube-scheduler configuration file, as kube-scheduler does.

``read_scheduler_defaults`` is the entry point. It ignores what does not concern PodTopologySpread.

Source: kubernetes pkg/scheduler/apis/config/{types,v1*/defaults}.go and
validation/validation.go ``ValidateKubeSchedulerConfiguration``.
"""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace
from pydantic import Field

from webhook.config.constraints import SchedulerConstraint, find_duplicates
from webhook.config.messages import format_value, suggest_choice
from webhook.config.models import LenientModel, StrictModel, refusing
from webhook.config.schedulerplugins import drop_disabled
from webhook.config.validation import DocumentValidation
from webhook.policy.api import schedulerargs
from webhook.policy.api.schedulerargs import (
    ARGS,
    LIST_DEFAULTING,
    PLUGIN,
    SCHEDULER_GROUP,
    SCHEDULER_KIND,
    SYSTEM_DEFAULTING,
)
from webhook.policy.defaulting.profiles import DEFAULT_SCHEDULER, SYSTEM_CONSTRAINTS
from webhook.policy.model import Constraint
from webhook.policy.paths import FieldPath

NEWEST_API_VERSION = f"{SCHEDULER_GROUP}/v1"
V1BETA1 = f"{SCHEDULER_GROUP}/v1beta1"  # constraints without a type mean List
V1ALPHA2 = f"{SCHEDULER_GROUP}/v1alpha2"  # supports only List

ApiVersion: TypeAlias = Literal[
    "kubescheduler.config.k8s.io/v1",
    "kubescheduler.config.k8s.io/v1beta3",
    "kubescheduler.config.k8s.io/v1beta2",
    "kubescheduler.config.k8s.io/v1beta1",
    "kubescheduler.config.k8s.io/v1alpha2",
]


class SchedulerDefaults(msgspec.Struct, frozen=True):
    """
    The default constraints of one profile of kube-scheduler.

    Attributes:
        scheduler: The schedulerName of the pods they apply to; empty if the file has none.
        system: Whether they are kube-scheduler's System defaults.
        notices: What kube-scheduler ignores in the file, in sentences without a final full stop.
    """

    scheduler: str
    constraints: tuple[Constraint, ...]
    system: bool = False
    notices: tuple[str, ...] = ()


class PluginArgs(StrictModel):
    """``PodTopologySpreadArgs``; kube-scheduler also rejects unknown fields in it."""

    api_version: ApiVersion | None = None
    kind: Literal["PodTopologySpreadArgs"] | None = None
    default_constraints: Annotated[tuple[SchedulerConstraint, ...], refusing(find_duplicates)] = ()
    defaulting_type: str = ""


class PluginConfig(LenientModel):
    """The arguments of any plugin."""

    name: str = ""
    args: Any = None


class SchedulerProfile(LenientModel):
    """One profile, and so one scheduler, of a kube-scheduler."""

    scheduler_name: str = ""
    plugins: Any = None
    plugin_config: tuple[PluginConfig, ...] = ()


class KubeSchedulerConfiguration(LenientModel):
    """The configuration file of kube-scheduler."""

    api_version: ApiVersion = Field(examples=[NEWEST_API_VERSION])
    kind: Literal["KubeSchedulerConfiguration"]
    profiles: tuple[SchedulerProfile, ...] = ()


def read_scheduler_defaults(reading: DocumentValidation) -> list[SchedulerDefaults]:
    """
    Read the default constraints of each scheduler.

    The document is a ``KubeSchedulerConfiguration``, or ``PodTopologySpreadArgs``, whose kind is
    optional.
    """
    value = reading.document.value
    kind = value.get("kind")
    if kind == SCHEDULER_KIND:
        return _read_configuration(reading)
    if kind == ARGS or (kind is None and value.keys() & {"defaultConstraints", "defaultingType"}):
        return _read_args(reading, "", value, (), NEWEST_API_VERSION)
    missing = f"is missing: write it, as `kind: {SCHEDULER_KIND}`"
    choice = suggest_choice(kind, (SCHEDULER_KIND, ARGS))
    reading.refuse(missing if kind is None else choice, ("kind",))
    return []


def _read_configuration(reading: DocumentValidation) -> list[SchedulerDefaults]:
    configuration = reading.model(KubeSchedulerConfiguration, reading.document.value)
    if configuration is None:
        return []
    profiles = configuration.profiles or (SchedulerProfile(),)
    names = _scheduler_names(profiles, reading)
    return [
        defaults
        for i, (name, profile) in enumerate(zip(names, profiles, strict=True))
        for defaults in _read_profile(reading, name, profile, i, configuration.api_version)
    ]


def _scheduler_names(
    profiles: tuple[SchedulerProfile, ...], reading: DocumentValidation
) -> list[str]:
    names: list[str] = []
    for i, profile in enumerate(profiles):
        name, path = profile.scheduler_name, ("profiles", i, "schedulerName")
        if not name and len(profiles) > 1:
            reading.refuse("is missing: each of several profiles needs one of its own", path)
        elif name in names:
            problem = f"{format_value(name)} names an earlier profile too: write another name"
            reading.refuse(problem, path)
        names.append(name or DEFAULT_SCHEDULER)
    return names


def _read_profile(
    reading: DocumentValidation, name: str, profile: SchedulerProfile, index: int, api_version: str
) -> list[SchedulerDefaults]:
    entries = [i for i, plugin in enumerate(profile.plugin_config) if plugin.name == PLUGIN]
    path: FieldPath = ("profiles", index, "pluginConfig")
    for i in entries[1:]:
        problem = f"configures {PLUGIN} once more: leave one of the entries"
        reading.refuse(problem, (*path, i, "name"))
    args = profile.plugin_config[entries[0]].args if entries else None
    if args is None:
        found = _read_args(reading, name, {}, (), api_version)
    else:
        found = _read_args(reading, name, args, (*path, entries[0], "args"), api_version)
    where = reading.where(("profiles", index, "plugins"))
    return [_drop_disabled(defaults, profile.plugins, where) for defaults in found]


def _drop_disabled(defaults: SchedulerDefaults, plugins: Any, where: str) -> SchedulerDefaults:
    """Drop the defaults that have no effect with the plugins of a profile, with a notice."""
    kept, points = drop_disabled(defaults.constraints, plugins)
    if kept == defaults.constraints:
        return defaults
    actions = {one.when_unsatisfiable for one in defaults.constraints if one not in kept}
    notice = (
        f"{where}: kube-scheduler applies no defaults with {' or '.join(sorted(actions))}, since "
        f"{PLUGIN} is disabled at {points}"
    )
    return replace(
        defaults,
        constraints=kept,
        system=defaults.system and bool(kept),
        notices=(*defaults.notices, notice),
    )


def _read_args(
    reading: DocumentValidation, scheduler: str, value: Any, path: FieldPath, api_version: str
) -> list[SchedulerDefaults]:
    """Read arguments, and apply the defaults of the API version; nothing if they are invalid."""
    args = reading.model(PluginArgs, value, path)
    if args is None:
        return []
    api_version = args.api_version or api_version
    constraints = tuple(entry.constraint for entry in args.default_constraints)
    kind = _defaulting_type(args, api_version)
    for error in schedulerargs.defaulting_type_errors(kind, constraints):
        fix = f"write `defaultingType: {LIST_DEFAULTING}`, or leave out defaultConstraints"
        reading.refuse(f"{error.message}; {fix}", (*path, "defaultingType"))
    if args.defaulting_type and api_version == V1ALPHA2:
        fix = f"leave it out, or write apiVersion: {NEWEST_API_VERSION}"
        reading.refuse(f"is not known to v1alpha2: {fix}", (*path, "defaultingType"))
    if kind == SYSTEM_DEFAULTING:
        return [SchedulerDefaults(scheduler, SYSTEM_CONSTRAINTS, system=True)]
    ignored = tuple(
        f"{reading.where((*path, 'defaultConstraints', i, 'matchLabelKeys'))}: {_IGNORED}"
        for i, entry in enumerate(args.default_constraints)
        if entry.match_label_keys
    )
    return [SchedulerDefaults(scheduler, constraints, notices=ignored)]


_IGNORED = (
    "ignored, as kube-scheduler ignores it in defaults; a profile with defaultConstraints of its "
    "own keeps matchLabelKeys"
)


def _defaulting_type(args: PluginArgs, api_version: str) -> str:
    """
    Return the defaulting type, or the default of the API version.

    Source: kubernetes pkg/scheduler/apis/config ``SetDefaults_PodTopologySpreadArgs`` by version.
    """
    if args.defaulting_type:
        return args.defaulting_type
    if api_version == V1ALPHA2 or (api_version == V1BETA1 and args.default_constraints):
        return LIST_DEFAULTING
    return SYSTEM_DEFAULTING
