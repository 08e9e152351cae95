"""etcd, as one member on loopback that keeps its data for as long as the control plane lives."""

import base64
import json
import urllib.request
from pathlib import Path
from typing import Any

from tests.controlplane.assets import Assets
from tests.controlplane.processes import Process, free_port

LONGEST_ANSWER_S = 5.0  # etcd answers in milliseconds, or is paused by the test


class Etcd:
    """
    The store of a control plane.

    Attributes:
        process: Start, kill, pause it here; its data survive all of that.
        url: Where clients reach it, such as ``http://127.0.0.1:20001``.
    """

    def __init__(self, assets: Assets, folder: Path) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        peer = f"http://127.0.0.1:{free_port()}"  # nobody comes, but it cannot be left out
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
            with urllib.request.urlopen(f"{self.url}/health", timeout=LONGEST_ANSWER_S) as answer:
                return bool(json.load(answer)["health"] == "true")
        except OSError:
            return False

    def revision(self) -> int:
        """The newest revision: the resourceVersion of the last write of any object."""
        key = base64.b64encode(b"\0").decode()
        answer = self._ask("kv/range", {"key": key, "limit": 1})
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
        request = urllib.request.Request(f"{self.url}/v3/{path}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=LONGEST_ANSWER_S) as answer:
            decoded: dict[str, Any] = json.load(answer)
            return decoded
