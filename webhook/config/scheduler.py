"""
The default constraints in a configuration file of kube-scheduler, read as kube-scheduler reads it.

Only what concerns the PodTopologySpread plugin is looked at; the rest is kube-scheduler's business.

Source: kubernetes pkg/scheduler/apis/config/{types,v1*/defaults}.go and
validation/validation.go ``ValidateKubeSchedulerConfiguration``.
"""

from typing import Any, Literal, TypeAlias

import msgspec
from pydantic import Field, field_validator

from webhook.config.constraints import SchedulerConstraint, find_duplicates
from webhook.config.messages import format_value, refuse, suggest_choice
from webhook.config.models import LenientModel, StrictModel
from webhook.config.validation import DocumentValidation
from webhook.policy.api import schedulerargs
from webhook.policy.api.schedulerargs import LIST_DEFAULTING, SYSTEM_DEFAULTING
from webhook.policy.defaulting.profiles import DEFAULT_SCHEDULER, SYSTEM_CONSTRAINTS
from webhook.policy.model import Constraint
from webhook.policy.paths import FieldPath

SCHEDULER_KIND = "KubeSchedulerConfiguration"
ARGS = "PodTopologySpreadArgs"
PLUGIN = "PodTopologySpread"

SCHEDULER_GROUP = "kubescheduler.config.k8s.io"
NEWEST_API_VERSION = f"{SCHEDULER_GROUP}/v1"
V1BETA1 = f"{SCHEDULER_GROUP}/v1beta1"  # without a type, a list is a List
V1ALPHA2 = f"{SCHEDULER_GROUP}/v1alpha2"  # knows lists only

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
        scheduler: The pods' schedulerName that they are for; empty if the file does not say it.
        constraints: May be none.
        system: Whether they are kube-scheduler's own.
        ignored_keys: Places of matchLabelKeys, which kube-scheduler ignores.
    """

    scheduler: str
    constraints: tuple[Constraint, ...]
    system: bool = False
    ignored_keys: tuple[str, ...] = ()


class PluginArgs(StrictModel):
    """``PodTopologySpreadArgs``; kube-scheduler reads it strictly too."""

    api_version: ApiVersion | None = None
    kind: Literal["PodTopologySpreadArgs"] | None = None
    default_constraints: tuple[SchedulerConstraint, ...] = ()
    defaulting_type: str = ""

    @field_validator("default_constraints")
    @classmethod
    def check(cls, constraints: tuple[SchedulerConstraint, ...]) -> tuple[SchedulerConstraint, ...]:
        """Refuse repeats."""
        refuse(find_duplicates(constraints))
        return constraints


class PluginConfig(LenientModel):
    """The arguments of one plugin, whichever it is."""

    name: str = ""
    args: Any = None


class SchedulerProfile(LenientModel):
    """One of the schedulers that a kube-scheduler is."""

    scheduler_name: str = ""
    plugin_config: tuple[PluginConfig, ...] = ()


class KubeSchedulerConfiguration(LenientModel):
    """The file that kube-scheduler reads."""

    api_version: ApiVersion = Field(examples=[NEWEST_API_VERSION])
    kind: Literal["KubeSchedulerConfiguration"]
    profiles: tuple[SchedulerProfile, ...] = ()


def read_scheduler_defaults(reading: DocumentValidation) -> list[SchedulerDefaults]:
    """
    Find the default constraints of each scheduler.

    Args:
        reading: Of a ``KubeSchedulerConfiguration``, or of ``PodTopologySpreadArgs``, which need
            no kind; it takes note of what is wrong.
    """
    value = reading.document.value
    match value.get("kind"):
        case "KubeSchedulerConfiguration":
            return _of_configuration(reading)
        case "PodTopologySpreadArgs":
            return _of_bare_args(reading)
        case None if "defaultConstraints" in value or "defaultingType" in value:
            return _of_bare_args(reading)
        case None:
            reading.refuse(f"is missing: write it, as `kind: {SCHEDULER_KIND}`", ("kind",))
        case kind:
            reading.refuse(suggest_choice(kind, (SCHEDULER_KIND, ARGS)), ("kind",))
    return []


def _of_bare_args(reading: DocumentValidation) -> list[SchedulerDefaults]:
    read = _of_args(reading, reading.document.value, (), NEWEST_API_VERSION)
    return [read] if read else []


def _of_configuration(reading: DocumentValidation) -> list[SchedulerDefaults]:
    configuration = reading.model(KubeSchedulerConfiguration, reading.document.value)
    if configuration is None:
        return []
    profiles = configuration.profiles or (SchedulerProfile(),)
    names = _scheduler_names(profiles, reading)
    found = [
        (name, _of_profile(reading, profile, i, configuration.api_version))
        for i, (name, profile) in enumerate(zip(names, profiles, strict=True))
    ]
    return [msgspec.structs.replace(read, scheduler=name) for name, read in found if read]


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


def _of_profile(
    reading: DocumentValidation, profile: SchedulerProfile, index: int, api_version: str
) -> SchedulerDefaults | None:
    plugins = [i for i, plugin in enumerate(profile.plugin_config) if plugin.name == PLUGIN]
    path: FieldPath = ("profiles", index, "pluginConfig")
    for i in plugins[1:]:
        problem = f"configures {PLUGIN} once more: leave one of the entries"
        reading.refuse(problem, (*path, i, "name"))
    if not plugins or profile.plugin_config[plugins[0]].args is None:
        return _meant(reading, PluginArgs(), (), api_version)
    first = plugins[0]
    return _of_args(reading, profile.plugin_config[first].args, (*path, first, "args"), api_version)


def _of_args(
    reading: DocumentValidation, value: Any, path: FieldPath, api_version: str
) -> SchedulerDefaults | None:
    args = reading.model(PluginArgs, value, path)
    return _meant(reading, args, path, args.api_version or api_version) if args else None


def _meant(
    reading: DocumentValidation, args: PluginArgs, path: FieldPath, api_version: str
) -> SchedulerDefaults:
    """Fill in what the version fills in, and check the outcome."""
    constraints = tuple(each.constraint for each in args.default_constraints)
    kind = _defaulting_type(args, api_version)
    for error in schedulerargs.defaulting_type_errors(kind, constraints):
        fix = f"write `defaultingType: {LIST_DEFAULTING}`, or leave out defaultConstraints"
        reading.refuse(f"{error.message}; {fix}", (*path, "defaultingType"))
    if args.defaulting_type and api_version == V1ALPHA2:
        problem = (
            f"is not known to v1alpha2: leave it out, or write apiVersion: {NEWEST_API_VERSION}"
        )
        reading.refuse(problem, (*path, "defaultingType"))
    ignored = tuple(
        reading.where((*path, "defaultConstraints", i, "matchLabelKeys"))
        for i, each in enumerate(args.default_constraints)
        if each.match_label_keys
    )
    if kind == SYSTEM_DEFAULTING:
        return SchedulerDefaults("", SYSTEM_CONSTRAINTS, system=True)
    return SchedulerDefaults("", constraints, ignored_keys=ignored)


def _defaulting_type(args: PluginArgs, api_version: str) -> str:
    """
    The type, given or not.

    Source: kubernetes pkg/scheduler/apis/config ``SetDefaults_PodTopologySpreadArgs`` by version.
    """
    if args.defaulting_type:
        return args.defaulting_type
    if api_version == V1ALPHA2 or (api_version == V1BETA1 and args.default_constraints):
        return LIST_DEFAULTING
    return SYSTEM_DEFAULTING
