"""A first request to a server that has just started: one review, through its TLS port."""

import json
import shlex
import ssl
from binascii import a2b_base64
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from webhook.admission.jsonpatch import patched
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import show_diff
from webhook.cli.views.findings import name_of
from webhook.errors import ConfigError, SourceError
from webhook.manifests import is_object
from webhook.server.run import Ready

TIMEOUT_S = 10.0  # what kube-apiserver waits by default, admissionregistration/v1 timeoutSeconds
MUTATE = "/mutate"
JSON = "application/json"


def greeting(file: str) -> Callable[[Ready], None]:
    """
    Make what shows, once a server is ready, how it answers a review, and how to send it by hand.

    The review is read at once, so that a wrong name is a mistake of usage.

    Raises:
        ConfigError: The file cannot be read, or is no review in JSON.
    """
    return partial(_greet, file, read_review(file))


def _greet(file: str, body: bytes, ready: Ready) -> None:
    assert ready.ca is not None  # it was made with a standalone certificate
    answer, terminal = send(body, ready.url, ready.ca), Terminal()
    with terminal.together():
        probes = f", probes and metrics at {ready.health}"
        terminal.line("serving at ", (ready.url, Style.PLACE), probes)
        terminal.line(f"POST {MUTATE} of {file} is answered:")
        show(body, answer, terminal)
        terminal.line("try it by hand:")
        terminal.line("  ", (curl(file, ready.url, ready.ca), Style.HINT))
        terminal.line("Ctrl-C stops the server")


def read_review(file: str) -> bytes:
    """
    Read the review to send.

    Raises:
        ConfigError: The file cannot be read, or is no review in JSON.
    """
    try:
        body = Path(file).read_bytes()
        value: Any = json.loads(body)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no JSON"
        raise ConfigError(f"{file!r} cannot be sent: {reason}", "--demo") from error
    if not is_object(value) or not is_object(value.get("request")):
        raise ConfigError(f"{file!r} is no AdmissionReview: it has no request", "--demo")
    return body


def send(body: bytes, url: str, ca: Path) -> dict[str, Any]:
    """
    Post a review as kube-apiserver would.

    Args:
        body: The review.
        url: Scheme, host and port of the server.
        ca: What to trust.

    Returns:
        The review in the answer, as it is.

    Raises:
        SourceError: The server cannot be reached, or refuses the review.
    """
    at = urlsplit(url)
    connection = HTTPSConnection(
        at.hostname or "",
        at.port,
        timeout=TIMEOUT_S,
        context=ssl.create_default_context(cafile=ca),
    )
    try:
        connection.request("POST", MUTATE, body, {"Content-Type": JSON})
        response = connection.getresponse()
        said = response.read()
    except (OSError, HTTPException) as error:
        raise SourceError(url, f"gave no answer: {error}") from error
    finally:
        connection.close()
    if response.status != HTTPStatus.OK:
        raise SourceError(url, f"answered with {response.status}: {said.decode(errors='replace')}")
    answer: dict[str, Any] = json.loads(said)
    return answer


def show(body: bytes, answer: dict[str, Any], terminal: Terminal) -> None:
    """
    Write an answer for people: the decoded patch as a diff, warnings, or why not.

    Args:
        body: The review that was sent.
        answer: The one that came back.
        terminal: Where to.
    """
    response: dict[str, Any] = answer["response"]
    obj: Any = json.loads(body)["request"].get("object") or {}
    metadata: Any = obj.get("metadata") or {}
    name = metadata.get("name") or metadata.get("generateName") or ""
    subject = name_of(str(obj.get("kind")), str(metadata.get("namespace") or ""), str(name))
    said, style = ("allowed", Style.GOOD) if response["allowed"] else ("denied", Style.BAD)
    reason = "" if response["allowed"] else f": {response['status']['message']}"
    terminal.line((subject, Style.PLACE), ": ", (said, style), reason)
    for warning in response.get("warnings", ()):
        terminal.line("    ", ("warning", Style.DOUBTFUL), f": {warning}")
    operations = json.loads(a2b_base64(response["patch"])) if "patch" in response else ()
    show_diff(obj, patched(obj, operations), subject, terminal)


def curl(file: str, url: str, ca: Path) -> str:
    """Write the line that sends a review by hand."""
    trust = f"--cacert {shlex.quote(str(ca))}"
    data = f"--data-binary {shlex.quote(f'@{file}')}"
    return f"curl {trust} -H 'Content-Type: {JSON}' {data} {url}{MUTATE}"
