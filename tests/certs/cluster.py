"""The objects of an API server that certificates need: one Secret, two webhook configurations."""

import base64
from collections.abc import Callable
from datetime import datetime, timedelta

from cryptography import x509

from certs.inject import Hooks
from certs.pem import read_certificates, write_certificates
from certs.secret import SecretStore
from tests.apiserver import ApiServer

SECRET = "/api/v1/namespaces/ns/secrets/ca"
MUTATING, VALIDATING = (
    f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/web"
    for kind in ("mutating", "validating")
)


class Cluster(ApiServer):
    """
    An API server with these objects.

    Attributes:
        ahead: How far its clock is ahead of the clock of the test.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__()
        self.ahead = timedelta(0)
        self.clock = lambda: clock() + self.ahead
        self.put(SECRET, {"metadata": {"name": "ca"}, "type": "Opaque"})
        for path in (MUTATING, VALIDATING):
            hook = {"name": "one.web", "clientConfig": {"service": {"name": "web"}}}
            self.put(path, {"metadata": {"name": "web"}, "webhooks": [hook]})

    @property
    def secret(self) -> SecretStore:
        return SecretStore(self, "ns", "ca")

    @property
    def hooks(self) -> Hooks:
        return Hooks(self, "web")

    def bundle(self, path: str, number: int = 0) -> tuple[x509.Certificate, ...]:
        text = self.objects[path]["webhooks"][number]["clientConfig"].get("caBundle", "")
        return read_certificates(base64.b64decode(text)) if text else ()

    def set_bundle(self, path: str, *certificates: x509.Certificate, raw: str = "") -> None:
        text = base64.b64encode(write_certificates(certificates)).decode()
        self.objects[path]["webhooks"][0]["clientConfig"]["caBundle"] = raw or text
        self.put(path, self.objects[path])
