"""Demo of ``serve --demo``: send one review to the server that has just started, over TLS."""

import json
import shlex
import ssl
from binascii import a2b_base64
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from webhook.admission.apply_patch import apply_patch
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import show_diff
from webhook.cli.views.findings import name_of
from webhook.errors import ConfigError, SourceError
from webhook.policy.paths import is_object
from webhook.server.run import ServerAddresses

REQUEST_TIMEOUT_S = 10.0  # the default of kube-apiserver, admissionregistration/v1 timeoutSeconds
MUTATE = "/mutate"
JSON = "application/json"


def demo_callback(file: str) -> Callable[[ServerAddresses], None]:
    """
    Create a callback that sends a review to the ready server and shows its answer.

    The review is read at once, so that an invalid file is a usage error before the start.

    Raises:
        ConfigError: The file cannot be read, or is not a review in JSON.
    """
    body = read_review(file)

    def show_demo(ready: ServerAddresses) -> None:
        assert ready.ca is not None  # the demo requires a standalone certificate
        answer, terminal = send(body, ready.url, ready.ca), Terminal()
        with terminal.together():
            probes = f", probes and metrics at {ready.health}"
            terminal.line("serving at ", (ready.url, Style.PLACE), probes)
            terminal.line(f"answer to POST {MUTATE} with {file}:")
            show(body, answer, terminal)
            terminal.line("send it yourself:")
            terminal.line("  ", (curl(file, ready.url, ready.ca), Style.HINT))
            terminal.line("Ctrl-C stops the server")

    return show_demo


def read_review(file: str) -> bytes:
    """
    Read the review to send.

    Raises:
        ConfigError: The file cannot be read, or is not a review in JSON.
    """
    try:
        body = Path(file).read_bytes()
        value: Any = json.loads(body)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise ConfigError(f"{file!r} cannot be sent: {reason}", "--demo") from error
    if not is_object(value) or not is_object(value.get("request")):
        raise ConfigError(f"{file!r} is not an AdmissionReview: it has no request", "--demo")
    return body


def send(body: bytes, url: str, ca: Path) -> dict[str, Any]:
    """
    Post a review as kube-apiserver does, and return the AdmissionReview in the response.

    Raises:
        SourceError: The server cannot be reached, or rejects the review.
    """
    at = urlsplit(url)
    connection = HTTPSConnection(
        at.hostname or "",
        at.port,
        timeout=REQUEST_TIMEOUT_S,
        context=ssl.create_default_context(cafile=ca),
    )
    try:
        connection.request("POST", MUTATE, body, {"Content-Type": JSON})
        response = connection.getresponse()
        content = response.read()
    except (OSError, HTTPException) as error:
        raise SourceError(url, f"gave no answer: {error}") from error
    finally:
        connection.close()
    if response.status != HTTPStatus.OK:
        raise SourceError(
            url, f"answered with {response.status}: {content.decode(errors='replace')}"
        )
    answer: dict[str, Any] = json.loads(content)
    return answer


def show(body: bytes, answer: dict[str, Any], terminal: Terminal) -> None:
    """Write the answer to a review: the patch as a diff, warnings, or the reason of a denial."""
    response: dict[str, Any] = answer["response"]
    obj: Any = json.loads(body)["request"].get("object") or {}
    metadata: Any = obj.get("metadata") or {}
    name = metadata.get("name") or metadata.get("generateName") or ""
    subject = name_of(str(obj.get("kind")), str(metadata.get("namespace") or ""), str(name))
    result, style = ("allowed", Style.GOOD) if response["allowed"] else ("denied", Style.BAD)
    reason = "" if response["allowed"] else f": {response['status']['message']}"
    terminal.line((subject, Style.PLACE), ": ", (result, style), reason)
    for warning in response.get("warnings", ()):
        terminal.line("    ", ("warning", Style.DOUBTFUL), f": {warning}")
    operations = json.loads(a2b_base64(response["patch"])) if "patch" in response else ()
    show_diff(obj, apply_patch(obj, operations), subject, terminal)


def curl(file: str, url: str, ca: Path) -> str:
    """Format the curl command that sends the review."""
    trust = f"--cacert {shlex.quote(str(ca))}"
    data = f"--data-binary {shlex.quote(f'@{file}')}"
    return f"curl {trust} -H 'Content-Type: {JSON}' {data} {url}{MUTATE}"
