"""
Settings of the server, from flags and ``EVENSPREAD_*`` environment variables.

``read_settings`` is the entry point. Precedence: flag, variable, configuration file, default.
``spread`` has the settings that exist only in the configuration file. The package must not import
this module, so that commands without a server start without loading pydantic-settings.
"""

import os
import re
import socket
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from webhook.config import failures, messages
from webhook.config.durations import parse_duration
from webhook.config.lifetimes import LEAST_CA_OVERLAP, LEAST_TEST_OVERLAP, parse_lifetimes
from webhook.config.messages import RefusalError, refusal
from webhook.errors import CombinedConfigError, ConfigError, VersionError
from webhook.policy.api.versions import parse_version

PREFIX = "EVENSPREAD_"

ANY_ADDRESS = "::"
ANY_IPV4_ADDRESS = "0.0.0.0"  # noqa: S104  # for nodes without IPv6 in the kernel
LOOPBACK = "127.0.0.1"

LEAST_INTERVAL = timedelta(seconds=1)
"""Shortest interval between audits; the pause after an audit is never shorter than the audit."""

Port = Annotated[int, Field(ge=0, le=65535)]

_SERVICE_LINK = "tcp://"
_MEBI = "Mi"  # the only suffix of Kubernetes quantities accepted here
_mebibytes = re.compile(rf"[1-9]\d{{0,5}}{_MEBI}", re.ASCII).fullmatch


def _check_lifetimes(text: str) -> str:
    parse_lifetimes(text)
    return text


def _check_interval(text: str) -> str:
    pause = parse_duration(text)
    if text and (pause is None or pause < LEAST_INTERVAL):
        value = messages.format_value(text)
        raise refusal(f"must be a duration of at least 1s, as 10m, not {value}")
    return text


def _check_memory(text: str) -> str:
    if not _mebibytes(text):
        raise refusal(f"must be a number of MiB, as 96Mi, not {messages.format_value(text)}")
    return text


def _check_version(text: str) -> str:
    try:
        return text and str(parse_version(text))
    except VersionError as error:
        raise refusal(error.problem) from error


class Settings(BaseSettings):
    """
    Settings of ``evenspread serve`` outside its configuration file.

    The help text and the reference show the description of each field.
    """

    model_config = SettingsConfigDict(
        env_ignore_empty=True,  # an empty variable counts as unset
        env_prefix=PREFIX,
        extra="forbid",
        frozen=True,
    )

    config: str = Field("", description="SpreadConfiguration file; reloaded when it changes")
    scheduler_config: str = Field(
        "",
        description="kube-scheduler configuration file to take default constraints from, "
        "instead of --config",
    )
    policies: Literal["both", "file", "resource"] = Field(
        "both",
        description="where profiles are: in the configuration file, in SpreadPolicies, or in both; "
        "those of the file come first. Without their CustomResourceDefinition, there are no "
        "SpreadPolicies",
    )
    feature_gates: str = Field(
        "",
        description="feature gates to set, such as A=true,B=false; they override those of the "
        "configuration file",
    )
    kube_version: Annotated[str, AfterValidator(_check_version)] = Field(
        "", description="Kubernetes version whose rules apply; otherwise that of the API server"
    )
    allow_locked_gates: bool = Field(
        default=False, description="allow turning off a feature gate that Kubernetes has locked on"
    )
    standalone: bool = Field(
        default=False,
        description="run without a cluster: create a certificate, and read objects from --facts",
    )
    facts: str = Field(
        "",
        description="manifests that describe the cluster for --standalone; in the variable, "
        "several paths are separated as in PATH",
    )
    kubeconfig: str = Field(
        "", description="kubeconfig file; otherwise the service account of the pod"
    )
    context: str = Field("", description="context of the kubeconfig; otherwise its current context")
    bind: str = Field(
        "",
        description="address to listen on; otherwise all addresses, or 127.0.0.1 with --standalone",
    )
    port: Port = Field(8443, description="port of the webhooks, with TLS")
    health_port: Port = Field(8080, description="port of the probes and metrics, without TLS")
    tls: Literal["auto", "self", "files", "standalone"] = Field(
        "auto",
        description="source of the serving certificate; self: a CA in a Secret; files: the "
        "certificate in --tls-dir; standalone: the CA and certificate in --state; auto: standalone "
        "with --standalone, otherwise self",
    )
    tls_dir: str = Field("", description="folder with tls.crt and tls.key, for --tls files")
    client_ca: str = Field(
        "",
        description="CA file; only clients with a certificate of this CA may connect; without this "
        "flag, any client may connect",
    )
    client_names: str = Field(
        "",
        description="common names or DNS names, such as A,B; a client certificate must have one; "
        "without this flag, any certificate of --client-ca is enough",
    )
    state: str = Field(
        ".evenspread", description="folder of the CA and certificate of --tls standalone"
    )
    test_lifetimes: Annotated[str, AfterValidator(_check_lifetimes)] = Field(
        "",
        description="for tests only, NOT for production: lifetimes of the certificates of "
        "--tls self, such as leaf=10s,ca=1h; the minimum of caOverlap in the configuration is "
        "then 1s",
    )
    namespace: str = Field(
        "",
        description="namespace of the server; otherwise that of its service account. For other "
        "commands, the variable is -n",
    )
    name: str = Field(
        "evenspread",
        description="name of the Service, the Deployment and the webhook configurations; the "
        "Secret is NAME-ca",
    )
    validate_pods: Literal["auto", "true", "false"] = Field(
        "auto",
        description="whether the API server sends pods to the validating webhook; "
        "true: this webhook gives the advice on pods; false: the mutating webhook gives it, as "
        "warnings; auto: true if a policy rule has the action deny",
    )
    replica: str = Field(
        "", description="name of this replica in Events and probes; otherwise its host name"
    )
    audit_interval: Annotated[str, AfterValidator(_check_interval)] = Field(
        "",
        description="time from the start of one audit to the start of the next, such as 10m; "
        "otherwise there are no audits",
    )
    audit_memory: Annotated[str, AfterValidator(_check_memory)] = Field(
        "96Mi",
        description="memory limit of the data of an audit; a namespace that needs more is left out",
    )
    policy_reports: Literal["none", "wgpolicyk8s.io", "openreports.io"] = Field(
        "none", description="API group of the PolicyReports that audits write, one per namespace"
    )
    log_format: Literal["json", "console"] = Field(
        "json", description="format of the log: json for programs, console for people"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="lowest level that is logged"
    )

    @property
    def address(self) -> str:
        """The address to listen on; ``::`` means every address, IPv4 too."""
        if self.bind or self.standalone:
            return self.bind or LOOPBACK
        return ANY_ADDRESS if socket.has_dualstack_ipv6() else ANY_IPV4_ADDRESS

    @property
    def certificate(self) -> Literal["self", "files", "standalone"]:
        """The source of the certificate, with ``auto`` resolved."""
        if self.tls != "auto":
            return self.tls
        return "standalone" if self.standalone else "self"

    @property
    def least_overlap(self) -> timedelta:
        """The shortest valid ``caOverlap`` in the configuration file."""
        return LEAST_TEST_OVERLAP if self.test_lifetimes else LEAST_CA_OVERLAP

    @property
    def validates_pods(self) -> bool | None:
        """Whether the validating webhook receives new pods; None: the policy decides."""
        return None if self.validate_pods == "auto" else self.validate_pods == "true"

    @property
    def audit_pause(self) -> timedelta | None:
        """Time from the start of one audit to the start of the next; None: no audits."""
        return parse_duration(self.audit_interval)

    @property
    def facts_paths(self) -> tuple[str, ...]:
        """Files and folders that describe the cluster."""
        return tuple(filter(None, self.facts.split(os.pathsep)))

    @property
    def audit_bytes(self) -> int:
        """Memory limit of an audit, in bytes."""
        return int(self.audit_memory.removesuffix(_MEBI)) * 2**20

    @field_validator("port", mode="before")
    @classmethod
    def ignore_service_link(cls, value: Any) -> Any:
        """
        Ignore the service link that a kubelet writes into EVENSPREAD_PORT.

        For a Service named evenspread it is ``tcp://10.0.0.1:443``, unless enableServiceLinks is
        off.
        """
        linked = isinstance(value, str) and value.startswith(_SERVICE_LINK)
        return cls.model_fields["port"].default if linked else value


class SettingRow(NamedTuple):
    """
    One setting, for the reference.

    Attributes:
        kind: ``text``, ``number``, ``yes or no``, or the valid words.
        default: As written on the command line; empty if there is none.
    """

    flag: str
    variable: str
    kind: str
    default: str
    reason: str


def setting_table() -> list[SettingRow]:
    """List every setting."""
    return [
        SettingRow(
            _flag(name), _variable(name), _kind(field), _default(field), field.description or ""
        )
        for name, field in Settings.model_fields.items()
    ]


def read_settings(flags: Mapping[str, Any]) -> Settings:
    """
    Build the settings from environment variables and from the flags of the command line.

    Raises:
        CombinedConfigError: Every invalid value, with its flag or variable.
    """
    try:
        return Settings(**flags)
    except ValidationError as error:
        errors = [_describe_error(one, flags) for one in error.errors(include_url=False)]
        raise CombinedConfigError(errors) from error


def _describe_error(details: ErrorDetails, flags: Mapping[str, Any]) -> ConfigError:
    name = str(details["loc"][0])
    cause = details.get("ctx", {}).get("error")
    problem = cause.problems[0][1] if isinstance(cause, RefusalError) else _describe_value(details)
    return ConfigError(problem, _flag(name) if name in flags else _variable(name))


def _describe_value(details: ErrorDetails) -> str:
    value = messages.format_value(details["input"])
    match details["type"]:
        case "literal_error":
            choices = failures.split_choices(details.get("ctx", {})["expected"])
            return messages.suggest_choice(details["input"], choices)
        case "int_parsing" | "int_type" | "greater_than_equal" | "less_than_equal":
            return f"must be a port from 0 to 65535, not {value}"
        case "bool_parsing" | "bool_type":
            return f"must be true or false, not {value}"
        case _:
            return f"cannot be {value}"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}"


def _kind(field: FieldInfo) -> str:
    names: dict[Any, str] = {str: "text", int: "number", bool: "yes or no"}
    return names.get(field.annotation) or " | ".join(failures.split_choices(str(field.annotation)))


def _default(field: FieldInfo) -> str:
    return str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
