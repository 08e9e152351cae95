"""
The fake kube-apiserver of the tests: objects, lists, watches and faults.

``ApiServer`` implements the client protocol of ``webhook.cluster.protocol`` and the one of
``certs.api``, without a network. ``listening`` serves the same object over HTTP, for tests of a
client, of a process or of TLS. It checks no schema and calls no webhook; tests that need these run
the real kube-apiserver, see ``tests.controlplane``. ``test_agreement`` compares both.
"""

from tests.apiserver.answers import (
    Answer,
    Behavior,
    Fault,
    Json,
    Request,
    Stream,
    after,
    bookmark,
    encode,
    event,
    failure,
    page,
    refuse,
    respond,
    watch,
)
from tests.apiserver.server import ApiServer
from tests.apiserver.sockets import listening, write_kubeconfig
from tests.apiserver.store import path_of

__all__ = [
    "Answer",
    "ApiServer",
    "Behavior",
    "Fault",
    "Json",
    "Request",
    "Stream",
    "after",
    "bookmark",
    "encode",
    "event",
    "failure",
    "listening",
    "page",
    "path_of",
    "refuse",
    "respond",
    "watch",
    "write_kubeconfig",
]
