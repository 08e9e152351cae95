"""Another mutating webhook, called after ours: webhooks run by name, "other" after "evenspread"."""

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import trustme

from tests.controlplane import webhooks
from tests.controlplane.api import Json

Change = Callable[[Json], list[Json]]
"""What is done to a pod, as JSON Patch."""


class Server(ThreadingHTTPServer):
    """Answers each review with a patch; waits at its end until every connection is closed."""

    daemon_threads = False

    def __init__(self, change: Change, tls: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.change = change
        self.socket = tls.wrap_socket(self.socket, server_side=True)


class Handler(BaseHTTPRequestHandler):
    """One call for each connection, so that none is left when the test is over."""

    timeout = 15.0  # seconds for an idle connection, and for an API server that stands still
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = json.loads(body)["request"]
        patch = json.dumps(self.server.change(request["object"])).encode()
        response = {
            "uid": request["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(patch).decode(),
        }
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        answer = json.dumps({**review, "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def other_webhook(change: Change, **members: Any) -> Iterator[Json]:
    """
    Serve such a webhook and yield its configuration, which is not registered yet.

    Args:
        change: For every pod that is created.
        members: Of the webhook besides, such as ``objectSelector``.
    """
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    with Server(change, tls) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield configuration(server.server_port, authority.cert_pem.bytes(), members)
        finally:
            server.shutdown()
            thread.join()


def configuration(port: int, ca: bytes, members: Json) -> Json:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    client = {"url": f"https://127.0.0.1:{port}/", "caBundle": base64.b64encode(ca).decode()}
    webhook = {
        "name": "other.evenspread.test",
        "clientConfig": client,
        "rules": [{**rule, "operations": ["CREATE"]}],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {
        "apiVersion": webhooks.VERSION,
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "other"},
        "webhooks": [webhook | members],
    }
