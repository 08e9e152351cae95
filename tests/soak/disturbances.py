"""
The faults of a soak: each method of ``Disturbances`` causes one, and returns when it is over.

They come one after the other, while calls go on.
"""

import os
import random
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from functools import partial

from tests.controlplane.processes import ProcessError
from tests.controlplane.waiting import until
from tests.e2e.certified import Certified
from tests.e2e.flood import Flood
from tests.e2e.replica import Replica
from tests.server.serving import call, review
from tests.soak.outages import Outages

PATIENCE_S = 120.0  # for what takes 15 s alone on a core
GRACE_S = 5.0  # from SIGTERM to SIGKILL of the API server
SILENT = 20  # connections to each replica that never say a word
CROWD, CROWD_S, CROWD_RATE = 200, 3.0, 100.0  # connections at once, seconds, reviews a second
UNANSWERED = ("calling_webhook_error", "apiserver_internal_error")
"""Values of ``error_type`` with which an API server counts a webhook that gave no usable answer."""


_ROTATE = "evenspread.io/rotate-ca"  # what `evenspread certs rotate --ca` writes


class Disturbances:
    """
    All kinds of faults, for one fleet.

    Attributes:
        done: How often each kind was caused.
        rejections: Calls of webhooks that API servers counted as failed, or let pass.
    """

    def __init__(self, certified: Certified, outages: Outages, pause_s: float) -> None:
        """
        Cause nothing yet.

        Args:
            pause_s: How long etcd is paused.
        """
        self.done = Counter[str]()
        self.rejections = 0.0
        self._certified, self._plane, self._outages = certified, certified.plane, outages
        self._pause_s = pause_s
        self._config = certified.replicas[0].config.read_text()
        self._never = threading.Event()

    def cycle(self, order: random.Random) -> Iterator[tuple[str, Callable[[], None]]]:
        """Every kind once, in random order, each with a title."""
        kinds: list[tuple[str, Callable[[], None]]] = [
            ("configuration reloaded", self.reload),
            ("configuration invalid for a while", self.break_configuration),
            ("CA rotated", self.rotate),
            ("API server restarted (SIGTERM)", self.restart_api_server),
            ("API server restarted (SIGKILL)", self.kill_api_server),
            ("etcd paused", self.pause_etcd),
            ("replicas restarted", self.roll),
            ("silent connections", self.stay_silent),
        ]
        order.shuffle(kinds)
        for title, act in kinds:
            self.done[title] += 1
            yield title, act

    def reload(self) -> None:
        """Change the configuration of all replicas, and wait until each has it."""
        skew = 10 + self.done.total() % 10
        self._configure(self._config.replace("maxSkew: 3", f"maxSkew: {skew}"), "success")

    def break_configuration(self) -> None:
        """Make the configuration invalid, and valid again."""
        self._configure(f"{self._config}mode: sometimes\n", "failure")
        self._configure(f"{self._config}# {self.done.total()}\n", "success")

    def rotate(self) -> None:
        """Request another CA; the rotation goes on beside the next faults."""
        wanted = {_ROTATE: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}  # noqa: TID251
        self._plane.api.merge(self._certified.secret, {"metadata": {"annotations": wanted}})

    def restart_api_server(self) -> None:
        """Stop the API server, which gets some seconds to end its calls, and start it again."""
        self.count_rejections()
        process = self._plane.apiserver.process
        with self._outages.during("API server restarted"):
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(TimeoutError):  # watches keep it for up to a minute
                until(lambda: not process.alive, "the API server to end", patience_s=GRACE_S)
            self._start_api_server()

    def kill_api_server(self) -> None:
        """Kill the API server after etcd has forgotten what watches would resume from."""
        self.count_rejections()
        with self._outages.during("API server killed"):
            self._plane.etcd.compact()
            self._start_api_server()

    def pause_etcd(self) -> None:
        """Stop etcd in its tracks for a while."""
        with self._outages.during("etcd paused"):
            self._plane.etcd.process.pause()
            try:
                self._never.wait(self._pause_s)
            finally:
                self._plane.etcd.process.resume()

    def roll(self) -> None:
        """Restart all replicas but the first, whose memory is followed from start to end."""
        for replica in self._certified.replicas[1:]:
            self._restart(replica)

    def stay_silent(self) -> None:
        """Open connections that send nothing, and wait until the replicas have closed them."""
        with ExitStack() as opened:
            silent = [
                opened.enter_context(socket.create_connection(("127.0.0.1", replica.port)))
                for replica in self._certified.replicas
                for _ in range(SILENT)
            ]
            for connection in silent:
                connection.settimeout(PATIENCE_S)
                assert connection.recv(1) == b"", "a connection without a TLS handshake is closed"

    def crowd(self) -> None:
        """
        Open more connections at once than API servers do, and send a review on each.

        A replica on a busy machine may refuse some with 503: it is overloaded then.
        """
        for replica in self._certified.replicas:
            with Flood(replica.port, call(review()), CROWD) as flood:
                statuses = {answered.status for answered in flood.run(CROWD_S, CROWD_RATE)}
            assert {200} <= statuses <= {200, 503}, f"a crowd was answered with {statuses}"

    def count_rejections(self) -> None:
        """Add what this process of the API server has counted; it starts again at 0."""
        metric = self._plane.apiserver.metric
        for error in UNANSWERED:
            name = "apiserver_admission_webhook_rejection_count"
            self.rejections += metric(name, error_type=error)
        self.rejections += metric("apiserver_admission_webhook_fail_open_count")

    def _configure(self, text: str, result: str) -> None:
        """Change the configuration of all replicas, and wait until each has seen it."""
        before = {replica: _reloads(replica, result) for replica in self._certified.replicas}
        for replica in before:
            replica.configure(text)
        for replica, reloads in before.items():
            changed = partial(_has_reloaded, replica, result, reloads)
            until(changed, f"a reload that is a {result}", patience_s=PATIENCE_S)

    def _start_api_server(self) -> None:
        """Kill the API server if it runs, and wait until it is ready again."""
        apiserver = self._plane.apiserver
        with suppress(ProcessError):  # after 30 s, which a busy machine exceeds
            self._plane.restart("kube-apiserver")
        apiserver.process.wait_until(apiserver.ready, patience_s=PATIENCE_S)

    def _restart(self, replica: Replica) -> None:
        """Stop a replica as a Deployment does: no new connections once it is not ready."""
        os.killpg(replica.process.pid, signal.SIGTERM)
        until(lambda: not replica.ready, "a replica to be unready", patience_s=PATIENCE_S)
        self._certified.service.remove(replica.port)
        until(lambda: not replica.process.alive, "a replica to end", patience_s=PATIENCE_S)
        replica.process.start()
        replica.process.wait_until(lambda: replica.ready, patience_s=PATIENCE_S)
        self._certified.service.add(replica.port)


def _reloads(replica: Replica, result: str) -> float:
    return replica.metric("config_reloads_total", result=result)


def _has_reloaded(replica: Replica, result: str, before: float) -> bool:
    with suppress(OSError):  # a busy machine
        return _reloads(replica, result) > before
    return False
