"""A server with the stolen key of a CA, which answers in place of evenspread."""

import base64
import json
import ssl
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from certs.issue import sign_leaf
from certs.pem import CertificatePair
from certs.serving import load, server_context
from certs.trust import STATE
from tests.certs.world import real_clock
from tests.controlplane.api import Json
from tests.e2e.certified import Certified
from tests.e2e.other_webhook import Handler, Server

NAME = "impostor.evenspread.test"


class KeepAliveHandler(Handler):
    """Keeps its connections, so that an API server may go on calling without a handshake."""

    protocol_version = "HTTP/1.1"
    timeout = 15.0


class Impostor(Server):
    """
    Changes no pod and counts.

    Attributes:
        calls: Answered reviews.
        refused: Handshakes that the API server broke off.
    """

    def __init__(self, tls: ssl.SSLContext) -> None:
        super().__init__(self._count, tls)
        self.RequestHandlerClass = KeepAliveHandler
        self.calls = self.refused = 0

    def _count(self, _pod: Json) -> list[Json]:
        self.calls += 1
        return []

    def get_request(self) -> Any:
        try:
            return super().get_request()
        except OSError:
            self.refused += 1
            raise


def steal(secret: Json, *hosts: str) -> CertificatePair:
    """Sign a leaf with the key that a Secret holds."""
    state: Mapping[str, Any] = json.loads(base64.b64decode(secret["data"][STATE]))
    newest = state["authorities"][-1]
    pem, key = (newest[part].encode() for part in ("certificate", "key"))
    stolen = CertificatePair.parse(pem, key, where="stolen")
    return sign_leaf(stolen, hosts, now=real_clock(), lifetime=stolen_lifetime(stolen))


def stolen_lifetime(authority: CertificatePair) -> Any:
    """As long as the CA: the thief need not obey."""
    return authority.leaf.not_valid_after_utc - real_clock()


@contextmanager
def impostor(certified: Certified) -> Generator[Impostor]:
    """
    Let the API server call an impostor by the name of the Service, beside the replicas.

    It has a webhook of its own, with ``Ignore``, because calls that it swallows cannot be helped.
    """
    tls = server_context(None)
    load(tls, steal(certified.plane.api.read(certified.secret), certified.host))
    with Impostor(tls) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            _register(certified, server.server_port)
            yield server
        finally:
            server.shutdown()
            thread.join()


def _register(certified: Certified, port: int) -> None:
    mutating = certified.hooks[0]
    webhook = json.loads(json.dumps(mutating["webhooks"][0]))
    webhook["clientConfig"].pop("caBundle", None)
    webhook["clientConfig"]["service"]["port"] = port
    mutating["webhooks"].append(webhook | {"name": NAME, "failurePolicy": "Ignore"})
    certified.plane.api.replace(mutating)
