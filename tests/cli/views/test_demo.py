import base64
import json
import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from certs.serving import LiveContext
from tests import build
from tests.apiserver import ApiServer, listening, respond
from tests.certs.world import authority, leaf
from tests.cli.conftest import in_background
from webhook.cli.terminal import Terminal
from webhook.cli.views import demo
from webhook.cluster.protocol import Response
from webhook.errors import ConfigError, SourceError
from webhook.server.run import ServerAddresses

CA = authority()
PAIR = leaf(CA, "127.0.0.1")

BODY = build.review_body(build.pod())

PATCH = [{"op": "add", "path": "/spec/topologySpreadConstraints", "value": [build.spread()]}]

# response, lines of text
ANSWERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "allowed": ({"allowed": True}, ["Pod web-1: allowed"]),
    "denied": (
        {"allowed": False, "status": {"message": "spec: invalid"}},
        ["Pod web-1: denied: spec: invalid"],
    ),
    "warned": (
        {"allowed": True, "warnings": ["spread wider"]},
        ["Pod web-1: allowed", "    warning: spread wider"],
    ),
    "patched": (
        {"allowed": True, "patch": base64.b64encode(json.dumps(PATCH).encode()).decode()},
        [
            "Pod web-1: allowed",
            "--- Pod web-1 as sent",
            "+++ Pod web-1 as patched",
            "@@ -4,4 +4,11 @@",
            "   name: web-1",
            "   labels:",
            "     app: web",
            "-spec: {}",
            "+spec:",
            "+  topologySpreadConstraints:",
            "+  - maxSkew: 1",
            "+    topologyKey: topology.kubernetes.io/zone",
            "+    whenUnsatisfiable: DoNotSchedule",
            "+    labelSelector:",
            "+      matchLabels:",
            "+        app: web",
        ],
    ),
}


@pytest.mark.parametrize(("response", "lines"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_text(
    response: dict[str, Any], lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    demo.show(BODY, {"response": response}, Terminal())

    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == lines


@pytest.fixture
def ca(tmp_path: Path) -> Path:
    """The CA file of PAIR."""
    file = tmp_path / "ca.crt"
    file.write_bytes(CA.certificate_pem())
    return file


@contextmanager
def serve(response: Response) -> Iterator[str]:
    """Serve this response to ``POST /mutate`` over TLS; gives the URL."""
    live = LiveContext()
    live.swap(PAIR, CA.chain)
    server = ApiServer(answers={"POST /mutate": response})
    with in_background(listening(server, live.context)):
        yield f"https://127.0.0.1:{server.port}"


def test_a_demo_shows_the_answer_and_the_command_to_repeat_it(
    ca: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "review.json"
    file.write_bytes(BODY)
    with serve(respond({"response": {"allowed": True}})) as url:
        demo.demo_callback(str(file))(ServerAddresses(url, ca, "http://127.0.0.1:8081"))

    assert capsys.readouterr().out.splitlines() == [
        f"serving at {url}, probes and metrics at http://127.0.0.1:8081",
        f"answer to POST /mutate with {file}:",
        "Pod web-1: allowed",
        "send it yourself:",
        f"  {demo.curl(str(file), url, ca)}",
        "Ctrl-C stops the server",
    ]


INVALID: dict[str, tuple[str | None, str]] = {
    "a file that does not exist": (None, "cannot be sent: No such file"),
    "a file that is not JSON": ("kind: Pod", "cannot be sent: it is not JSON"),
    "a file without a request": ("{}", "is not an AdmissionReview: it has no request"),
}


@pytest.mark.parametrize(("text", "message"), INVALID.values(), ids=INVALID.keys())
def test_an_invalid_review_is_an_error_before_the_start(
    text: str | None, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "review.json"
    if text is not None:
        file.write_text(text)

    with pytest.raises(ConfigError, match=message):
        demo.demo_callback(str(file))


def test_a_rejected_review_is_an_error(ca: Path) -> None:
    with serve(Response(400, b"no uid")) as url, pytest.raises(SourceError) as caught:
        demo.send(BODY, url, ca)

    assert str(caught.value) == f"{url}: answered with 400: no uid"


def test_a_server_that_has_stopped_is_an_error(ca: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"

    with pytest.raises(SourceError, match=f"{url}: gave no answer: "):
        demo.send(BODY, url, ca)


def test_the_curl_command_is_quoted_for_a_shell() -> None:
    line = demo.curl("my review.json", "https://127.0.0.1:8443", Path("my state/ca.crt"))

    assert shlex.split(line) == [
        *("curl", "--cacert", "my state/ca.crt"),
        *("-H", "Content-Type: application/json"),
        *("--data-binary", "@my review.json", "https://127.0.0.1:8443/mutate"),
    ]
