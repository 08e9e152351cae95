"""Options of a control plane; each component translates them into its flags."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """
    One control plane; the defaults are the whole of it, as a new cluster has it.

    Attributes:
        controllers: Run kube-controller-manager: workloads get pods, namespaces ServiceAccounts.
        scheduler: Run kube-scheduler: pods are bound to nodes.
        service_accounts: The ServiceAccount admission plugin. Without controllers it refuses every
            pod of a namespace without the ServiceAccount ``default``.
        rbac: Authorize by RBAC; otherwise everybody may do everything.
        feature_gates: Gate to on or off; gates that are locked cannot be set.
        emulated_version: Such as ``1.33``: behave, with its gates' defaults, as that minor version.
            The oldest is three below the binaries'. None: as the binaries are.
        audit: Record requests, without bodies, for ``ApiServer.audit_events``.
        admission_configuration: The ``plugins`` of an AdmissionConfiguration, by plugin name, such
            as ``{"PodSecurity": {"apiVersion": ...}}``.
        scheduler_profiles: The ``profiles`` of KubeSchedulerConfiguration; empty: the default one.
        compaction_interval: How often the API server lets etcd forget old revisions, as a Go
            duration; the API server's own default is ``5m``.
        apiserver_flags: Further flags of kube-apiserver, such as ``--watch-cache=false``.
    """

    controllers: bool = True
    scheduler: bool = True
    service_accounts: bool = True
    rbac: bool = True
    feature_gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    emulated_version: str | None = None
    audit: bool = False
    admission_configuration: Mapping[str, Any] = field(default_factory=dict[str, Any])
    scheduler_profiles: tuple[Mapping[str, Any], ...] = ()
    compaction_interval: str | None = None
    apiserver_flags: tuple[str, ...] = ()

    @property
    def version_flags(self) -> tuple[str, ...]:
        """Emulated version and gates: the same for every component that has them."""
        flags: list[str] = []
        if self.emulated_version is not None:
            flags.append(f"--emulated-version={self.emulated_version}")
        if self.feature_gates:
            gates = ",".join(f"{gate}={on}" for gate, on in self.feature_gates.items())
            flags.append(f"--feature-gates={gates}")
        return tuple(flags)
