"""A webhook that passes each review on to a replica, and keeps what went to and fro."""

import base64
import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

import trustme

from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.e2e.replica import PATIENCE_S, Replica, configurations


class RecordedReview(NamedTuple):
    """A review and its answer: the ``request`` and the ``response`` of both."""

    request: Json
    response: Json

    @property
    def patch(self) -> list[Json]:
        """The operations of the JSON Patch; none if there is no patch."""
        operations: list[Json] = json.loads(base64.b64decode(self.response.get("patch", "W10=")))
        return operations


class Recorder(ThreadingHTTPServer):
    """
    Forwards reviews; waits at its end until every connection is closed.

    Attributes:
        mutations: The last review of the mutating webhook, by the name of its object.
    """

    daemon_threads = False

    def __init__(self, replica: Replica, tls: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.mutations: dict[str, RecordedReview] = {}
        self.socket = tls.wrap_socket(self.socket, server_side=True)
        self._replica = replica
        self._trusted = ssl.create_default_context(cafile=replica.folder / "state/ca.crt")

    def forward(self, path: str, body: bytes) -> bytes:
        """Send a review to the replica; gives its answer."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._replica.port, timeout=PATIENCE_S, context=self._trusted
        )
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse().read()
        finally:
            connection.close()
        if path.startswith("/mutate"):
            review = RecordedReview(json.loads(body)["request"], json.loads(answer)["response"])
            self.mutations[review.request["name"]] = review
        return answer


class Handler(BaseHTTPRequestHandler):
    """One call for each connection, so that none is left when the test is over."""

    timeout = 15.0  # seconds for an idle connection, and for an API server that stands still
    server: Recorder

    def do_POST(self) -> None:
        answer = self.server.forward(
            self.path, self.rfile.read(int(self.headers["Content-Length"]))
        )
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def recording(replica: Replica, name: str, mark: Json) -> Iterator[tuple[Recorder, list[Json]]]:
    """
    Serve such a webhook as long as the context lasts.

    Yields:
        It, and its configurations, which are not registered yet, for namespaces with a mark.
    """
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    ca = base64.b64encode(authority.cert_pem.bytes()).decode()
    with Recorder(replica, tls) as recorder:
        url = f"https://127.0.0.1:{recorder.server_port}"
        thread = threading.Thread(target=recorder.serve_forever)
        thread.start()
        try:
            yield (
                recorder,
                [
                    webhooks.by_url(configuration, url, ca)
                    for configuration in configurations(name, mark)
                ],
            )
        finally:
            recorder.shutdown()
            thread.join()
