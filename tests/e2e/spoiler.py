"""Another mutating webhook, which makes the constraints of every new pod its own."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import trustme

from tests.controlplane import webhooks
from tests.controlplane.api import Json

CONSTRAINTS = [
    {"maxSkew": 7, "topologyKey": "example.com/rack", "whenUnsatisfiable": "ScheduleAnyway"}
]


class Handler(BaseHTTPRequestHandler):
    """Replaces the list."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = json.loads(body)["request"]
        patch = [{"op": "add", "path": "/spec/topologySpreadConstraints", "value": CONSTRAINTS}]
        response = {
            "uid": request["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
        }
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        answer = json.dumps({**review, "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def spoiling() -> Iterator[Json]:
    """Give the configuration of such a webhook, which is called after ours: they go by name."""
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield configuration(server.server_port, authority.cert_pem.bytes())
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def configuration(port: int, ca: bytes) -> Json:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    return {
        "apiVersion": webhooks.VERSION,
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "spoiler"},
        "webhooks": [
            {
                "name": "spoiler.evenspread.test",
                "clientConfig": {
                    "url": f"https://127.0.0.1:{port}/",
                    "caBundle": base64.b64encode(ca).decode(),
                },
                "rules": [{**rule, "operations": ["CREATE"]}],
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }
