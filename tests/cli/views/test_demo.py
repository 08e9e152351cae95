import base64
import json
import shlex
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from certs.standalone import ensure_pair
from tests import build
from webhook.cli.terminal import Terminal
from webhook.cli.views import demo
from webhook.errors import SourceError

BODY = build.review_body(build.pod())

PATCH = [{"op": "add", "path": "/spec/topologySpreadConstraints", "value": [build.spread()]}]

# response, lines of text
ANSWERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "allowed": ({"allowed": True}, ["Pod web-1: allowed"]),
    "denied": (
        {"allowed": False, "status": {"message": "spec: too bad"}},
        ["Pod web-1: denied: spec: too bad"],
    ),
    "warned": (
        {"allowed": True, "warnings": ["mind the gap"]},
        ["Pod web-1: allowed", "    warning: mind the gap"],
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
def test_show(
    response: dict[str, Any], lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    demo.show(BODY, {"response": response}, Terminal())

    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == lines


def test_server_that_is_gone(tmp_path: Path) -> None:
    ensure_pair(tmp_path, ["127.0.0.1"], now=datetime(2026, 1, 1, tzinfo=UTC))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"

    with pytest.raises(SourceError, match=f"{url}: gave no answer: "):
        demo.send(BODY, url, tmp_path / "ca.crt")


def test_curl_line_is_one_for_a_shell() -> None:
    line = demo.curl("my review.json", "https://127.0.0.1:8443", Path("my state/ca.crt"))

    assert shlex.split(line) == [
        *("curl", "--cacert", "my state/ca.crt"),
        *("-H", "Content-Type: application/json"),
        *("--data-binary", "@my review.json", "https://127.0.0.1:8443/mutate"),
    ]
