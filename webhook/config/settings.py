"""
Settings of the server, from flags and ``EVENSPREAD_*`` environment variables.

``read_settings`` is the entry point. Precedence: flag, variable, configuration file, default.
``spread`` has the settings that exist only in the configuration file. The package must not import
this module, so that commands without a server start without loading pydantic-settings.
"""

import re
import socket
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal, NamedTuple

from pydantic import Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

from webhook.config import messages
from webhook.config.durations import parse_duration, parse_lifetimes
from webhook.config.messages import RefusalError, refusal
from webhook.config.spread import LEAST_CA_OVERLAP, LEAST_TEST_OVERLAP
from webhook.errors import CombinedConfigError, ConfigError, VersionError
from webhook.policy.api.versions import parse_version

PREFIX = "EVENSPREAD_"

ANY_ADDRESS = "::"
ANY_IPV4_ADDRESS = "0.0.0.0"  # noqa: S104  # for nodes without IPv6 in the kernel
LOOPBACK = "127.0.0.1"

LEAST_INTERVAL = timedelta(seconds=1)
"""Shortest interval between audits; the pause after an audit is never shorter than the audit."""

_SERVICE_LINK = "tcp://"
_MEBI = "Mi"  # the only suffix of Kubernetes quantities accepted here
_mebibytes = re.compile(rf"[1-9]\d{{0,5}}{_MEBI}", re.ASCII).fullmatch


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

    config: str = Field("", description="SpreadConfiguration to follow; read again when it changes")
    scheduler_config: str = Field(
        "", description="file of kube-scheduler to take defaults from instead"
    )
    feature_gates: str = Field(
        "", description="gates to switch, as A=true,B=false, over those of the file"
    )
    kube_version: str = Field(
        "", description="Kubernetes version to judge by; else the API server's own"
    )
    allow_locked_gates: bool = Field(
        default=False, description="lets a feature be held back that Kubernetes has locked on"
    )
    standalone: bool = Field(
        default=False, description="needs no cluster: own certificate, facts from --cluster"
    )
    cluster: str = Field("", description="manifests that stand for a cluster")
    kubeconfig: str = Field("", description="how to reach the cluster, from outside of it")
    context: str = Field("", description="context of the kubeconfig; else its current one")
    bind: str = Field("", description="address to listen on; 127.0.0.1 with --standalone, else all")
    port: int = Field(
        8443,
        ge=0,
        le=65535,
        description="admission over TLS; above 1023, so that no right is needed",
    )
    health_port: int = Field(
        8080,
        ge=0,
        le=65535,
        description="probes and metrics; plain, since a kubelet has no client CA",
    )
    tls: Literal["auto", "self", "files", "standalone"] = Field(
        "auto",
        description="where the certificate comes from; auto: standalone with --standalone, else "
        "self, an authority in a Secret",
    )
    tls_dir: str = Field("", description="folder of tls.crt and tls.key, for --tls files")
    client_ca: str = Field(
        "",
        description="file of the CA whose certificates callers must show; else whoever can connect "
        "may call",
    )
    client_names: str = Field(
        "",
        description="names that callers may have, as A,B: the common name or a DNS name of their "
        "certificate; else any of --client-ca",
    )
    state: str = Field(".evenspread", description="folder of the standalone CA and certificate")
    test_lifetimes: str = Field(
        "",
        description="NOT for production: how long the certificates of --tls self live, as "
        "leaf=10s,ca=1h, for tests that watch them change; caOverlap may be 1s then",
    )
    namespace: str = Field(
        "", description="namespace that it runs in; else that of the service account"
    )
    name: str = Field(
        "evenspread",
        description="of its Service, Deployment and webhook configurations; its Secret is NAME-ca",
    )
    validate_pods: Literal["auto", "true", "false"] = Field(
        "auto",
        description="whether pods are sent to the validating webhook, which then gives the advice "
        "on them; auto: where a policy rule's action is deny, as the chart registers it",
    )
    replica: str = Field(
        "",
        description="name of this replica in Events and answers to probes; else that of its host",
    )
    audit_interval: str = Field(
        "", description="between two audits of the cluster, as 10m; none is made if not given"
    )
    audit_memory: str = Field(
        "96Mi",
        description="data that an audit may hold besides the server; with more it fails",
    )
    policy_reports: Literal["none", "wgpolicyk8s.io", "openreports.io"] = Field(
        "none", description="API group of the reports that audits write, one a namespace"
    )
    log_format: Literal["json", "console"] = Field(
        "json", description="lines for machines, or for people"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info",
        description="least weight of what is logged; info has no line for an allowed request",
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

    @field_validator("test_lifetimes")
    @classmethod
    def check_lifetimes(cls, text: str) -> str:
        """Reject invalid lifetimes."""
        parse_lifetimes(text)
        return text

    @field_validator("audit_interval")
    @classmethod
    def check_interval(cls, text: str) -> str:
        """Reject an invalid or too short duration."""
        pause = parse_duration(text)
        if text and (pause is None or pause < LEAST_INTERVAL):
            value = messages.format_value(text)
            raise refusal(f"must be a duration of at least 1s, as 10m, not {value}")
        return text

    @field_validator("audit_memory")
    @classmethod
    def check_memory(cls, text: str) -> str:
        """Reject a text that is not a quantity in MiB."""
        if not _mebibytes(text):
            raise refusal(f"must be a number of MiB, as 96Mi, not {messages.format_value(text)}")
        return text

    @field_validator("kube_version")
    @classmethod
    def check_version(cls, text: str) -> str:
        """Reject a text that is not a Kubernetes version."""
        try:
            return text and str(parse_version(text))
        except VersionError as error:
            raise refusal(error.problem) from error


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
    Build the settings from flags and environment variables.

    Args:
        flags: The flags on the command line, by name with underscores, without the others.

    Raises:
        CombinedConfigError: Every invalid value, with its flag or variable.
    """
    try:
        return Settings(**flags)
    except ValidationError as error:
        told = error.errors(include_url=False)
        raise CombinedConfigError([_mistake(each, flags) for each in told]) from error


def _mistake(told: Any, flags: Mapping[str, Any]) -> ConfigError:
    name = str(told["loc"][0])
    cause = told.get("ctx", {}).get("error")
    problem = cause.problems[0][1] if isinstance(cause, RefusalError) else _sentence(told)
    return ConfigError(problem, _flag(name) if name in flags else _variable(name))


def _sentence(told: Any) -> str:
    value = messages.format_value(told["input"])
    match told["type"]:
        case "literal_error":
            return messages.suggest_choice(
                told["input"], messages.split_choices(told["ctx"]["expected"])
            )
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
    return names.get(field.annotation) or " | ".join(messages.split_choices(str(field.annotation)))


def _default(field: FieldInfo) -> str:
    return str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
