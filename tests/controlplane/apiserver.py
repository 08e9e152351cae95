"""kube-apiserver: one or several on the same etcd, each with options of its own."""

import http.client
import json
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.controlplane.api import Api, Json
from tests.controlplane.assets import Assets
from tests.controlplane.credentials import Credentials
from tests.controlplane.options import Options
from tests.controlplane.processes import Process, free_port, whole_lines

UNUSED_ADDRESS = "192.0.2.1"
"""
Address to advertise: one of a network for documentation (RFC 5737), so it is unused.

It must not be loopback, and the default, the machine's own, needs a machine with a network.
"""

START_S = 120.0  # patience for a start while clients call and other tests run

AUDIT_POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],  # with the annotations of webhooks, without bodies
}


class ApiServer:
    """
    One kube-apiserver, on the same port through all restarts.

    Attributes:
        process: Kill or pause it here.
        port: Of 127.0.0.1.
        api: A client with the rights of a cluster admin.
        kubeconfig: The same for others.
        audit_log: What audit_events() reads.
    """

    def __init__(
        self,
        assets: Assets,
        folder: Path,
        credentials: Credentials,
        etcd_url: str,
        *,
        name: str = "kube-apiserver",
    ) -> None:
        self.port = free_port()
        self.api = Api(port=self.port, ca=credentials.ca, token=credentials.tokens["admin"])
        self.kubeconfig = folder / f"{name}.kubeconfig"
        self.kubeconfig.write_text(
            credentials.kubeconfig(self.api.url, credentials.tokens["admin"])
        )
        self.process = Process(name, (), log=folder / f"{name}.log")
        self.audit_log = folder / f"{name}.audit"
        self._program = assets.program("kube-apiserver")
        self._folder = folder
        self._credentials = credentials
        self._etcd_url = etcd_url

    def start(self, options: Options) -> None:
        """Start it, and wait until it is ready (2 to 4 s, on a busy machine far longer)."""
        self.process.command = (str(self._program), *self._flags(options))
        self.process.start()
        self.process.wait_until(self.ready, patience_s=START_S)

    def ready(self) -> bool:
        """Whether /readyz answers 200; the roles of RBAC and the first namespaces exist then."""
        try:
            return self.api.request("GET", "/readyz").status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False

    def audit_events(self) -> list[Json]:
        """What it recorded since its first start, oldest first; see Options.audit."""
        return [json.loads(line) for line in whole_lines(self.audit_log)]

    def metric(self, name: str, /, **labels: str) -> float:
        """
        Sum of a metric's samples on its /metrics; 0 if there are none.

        Args:
            name: As in the text, such as ``apiserver_admission_webhook_fail_open_count``.
            labels: Those that a sample must have to count.
        """
        text = self.api.request("GET", "/metrics").body["text"]
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            # The parser adds the suffix to counters that lack it.
            if sample.name in (name, f"{name}_total") and labels.items() <= sample.labels.items()
        )

    def _flags(self, options: Options) -> tuple[str, ...]:
        trust = self._credentials
        return (
            f"--etcd-servers={self._etcd_url}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--advertise-address={UNUSED_ADDRESS}",
            "--endpoint-reconciler-type=none",  # no pod uses the Service kubernetes
            f"--tls-cert-file={trust.serving}",
            f"--tls-private-key-file={trust.serving}",
            # No client has a certificate, but the other components want to know their CAs.
            f"--client-ca-file={trust.ca}",
            f"--requestheader-client-ca-file={trust.ca}",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-allowed-names=nobody",
            f"--token-auth-file={trust.token_file}",
            f"--service-account-key-file={trust.service_account_key}",
            f"--service-account-signing-key-file={trust.service_account_key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--allow-privileged=true",
            f"--authorization-mode={'RBAC' if options.rbac else 'AlwaysAllow'}",
            *self._optional_flags(options),
        )

    def _optional_flags(self, options: Options) -> list[str]:
        flags = list(options.version_flags)
        if not options.service_accounts:
            flags.append("--disable-admission-plugins=ServiceAccount")
        if options.compaction_interval is not None:
            flags.append(f"--etcd-compaction-interval={options.compaction_interval}")
        if options.audit:
            policy = self._written("audit-policy", AUDIT_POLICY)
            flags += [f"--audit-policy-file={policy}", f"--audit-log-path={self.audit_log}"]
        if options.admission_configuration:
            configuration = self._written(
                "admission",
                {
                    "apiVersion": "apiserver.config.k8s.io/v1",
                    "kind": "AdmissionConfiguration",
                    "plugins": [
                        {"name": name, "configuration": value}
                        for name, value in options.admission_configuration.items()
                    ],
                },
            )
            flags.append(f"--admission-control-config-file={configuration}")
        return [*flags, *options.apiserver_flags]

    def _written(self, subject: str, content: dict[str, Any]) -> Path:
        path = self._folder / f"{self.process.name}.{subject}.json"
        path.write_text(json.dumps(content))
        return path
