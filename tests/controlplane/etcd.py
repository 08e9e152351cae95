"""etcd, one member on loopback, whose data is deleted with the control plane."""

import base64
import http.client
import json
import urllib.request
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.controlplane.assets import Assets
from tests.controlplane.processes import Process, free_port

LONGEST_PROBE_S = 5.0  # etcd answers in milliseconds, or is paused by the test
LONGEST_ANSWER_S = 60.0  # for a single request


class Etcd:
    """
    The store of a control plane.

    Attributes:
        process: Start, kill, pause it here; its data survive all of that.
        url: Where clients reach it, such as ``http://127.0.0.1:20001``.
    """

    def __init__(self, assets: Assets, folder: Path) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        peer = f"http://127.0.0.1:{free_port()}"  # unused, but required
        command = (
            str(assets.program("etcd")),
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",  # a kill loses nothing that a write() has seen; only power would
            "--log-level=error",
        )
        self.process = Process("etcd", command, log=folder / "etcd.log")

    def start(self) -> None:
        """Start it, and wait until it serves."""
        self.process.start()
        self.process.wait_until(self.ready)

    def ready(self) -> bool:
        """Whether it serves reads and writes now."""
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=LONGEST_PROBE_S) as answer:
                return bool(json.load(answer)["health"] == "true")
        except OSError:
            return False

    def revision(self) -> int:
        """The newest revision: the resourceVersion of the last write of any object."""
        answer = self._ask("kv/range", {"key": _encoded("\0"), "limit": 1})
        return int(answer["header"]["revision"])

    def compact(self, revision: int | None = None) -> int:
        """
        Forget what was before a revision (None: the newest); returns it.

        A list or watch from an older resourceVersion that reaches etcd is then answered with 410.
        The API server still answers a watch itself while its own cache remembers that far back;
        a restarted API server remembers nothing.
        """
        at = self.revision() if revision is None else revision
        self._ask("kv/compaction", {"revision": at, "physical": True})
        return at

    def _ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return _ask(self.url, path, body)


def write(url: str, objects: Iterable[tuple[str, Any]]) -> None:
    """
    Write objects past the API server, which takes the JSON of any version that it can decode.

    Nothing is checked or defaulted. Each has a revision of its own: of several with one revision
    an API server loses some when it takes up a watch again.

    Args:
        url: Of etcd.
        objects: Keys below ``/registry/``, such as ``services/specs/default/web``, each with the
            object in the group and version in which the API server stores its kind.
    """
    address = urlsplit(url)
    with closing(http.client.HTTPConnection(address.netloc, timeout=LONGEST_ANSWER_S)) as etcd:
        for key, value in objects:
            put = {"key": _encoded(f"/registry/{key}"), "value": _encoded(json.dumps(value))}
            etcd.request("POST", "/v3/kv/put", json.dumps(put))
            answer = etcd.getresponse()
            body = answer.read()
            if answer.status != http.client.OK:
                raise OSError(f"{url} answered {body.decode()}")


def _ask(url: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(f"{url}/v3/{path}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=LONGEST_ANSWER_S) as answer:
        decoded: dict[str, Any] = json.load(answer)
        return decoded


def _encoded(text: str) -> str:
    """Bytes as etcd's gateway has them in JSON."""
    return base64.b64encode(text.encode()).decode()
