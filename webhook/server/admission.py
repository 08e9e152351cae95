"""
The admission listener: ``POST /mutate``, ``POST /validate`` and ``POST /bind``, nothing else.

``Admission.answer_now`` answers most reviews, as soon as they are read: decoding, judging and
encoding never wait. ``Admission.answer`` answers the others. Facts that the caches lack are fetched
before the verdict, within the caller's timeout. A review so large that it would delay others is
decoded and judged in a thread.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Mapping
from contextlib import nullcontext
from functools import cache, partial
from typing import Final, NamedTuple, TypeVar

from aiohttp import HttpVersion11, hdrs, http_parser, web
from aiohttp.http_exceptions import HttpProcessingError

from certs.clients import Clients
from webhook import admission
from webhook.errors import OverloadError, ReviewError
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.request import AdmissionRequest, AnyHook, BindHook, Hook
from webhook.policy.verdict import Verdict
from webhook.server.http.body import Bodies, read_target
from webhook.server.http.endpoint import HttpConnection, HttpEndpoint
from webhook.server.http.limits import Limits
from webhook.server.http.responses import JSON, ReviewResponse, reply, review_reply, text_reply
from webhook.server.reporting import AnsweredReview, Observers, ReviewReporter
from webhook.server.review_thread import ReviewThread
from webhook.server.reviews import ReviewContext, decide, decode_only, fetch
from webhook.telemetry.logs import Throttle, log_bug

HOOK_PATHS: Final[Mapping[str, AnyHook]] = {
    "/mutate": Hook.MUTATE,
    "/validate": Hook.VALIDATE,
    "/bind": BindHook.BIND,
}

REJECTION_REASONS = {
    403: "client",
    404: "path",
    405: "method",
    408: "slow-body",
    413: "large-body",
    415: "media-type",
}
"""Labels of ``evenspread_admission_rejected_total`` by status; others are ``malformed``."""

HEADERS = {405: {"Allow": "POST"}}  # headers that an error reply has besides its text, by status

LOGGED_PATH_CHARACTERS = 100  # of a refused request; our own paths with their timeout have 20

Result = TypeVar("Result")


def _describe(request: web.BaseRequest, connection: HttpConnection, uid: str) -> dict[str, str]:
    """Name a request in the log, with the beginning of its path."""
    about = {"peer": connection.peer, "path": request.raw_path[:LOGGED_PATH_CHARACTERS]}
    return {**about, "uid": uid} if uid else about


class _Call(NamedTuple):
    """
    A review that is read, and what is needed to answer it.

    Attributes:
        started: When the request was read, by the endpoint's clock.
        left: Seconds until the answer must be ready, from its reading on.
        long: Bytes of a body that counts until the answer; 0 for a short one.
        missing: Gets facts that the caches lack; None if there is nothing to wait for.
    """

    started: float
    hook: AnyHook
    left: float
    context: ReviewContext
    review: AdmissionRequest
    long: int = 0
    missing: Awaitable[Facts | None] | None = None


class Admission(HttpEndpoint):
    """
    The admission server.

    Attributes:
        context: What verdicts depend on; a reload replaces it.
        last_call: The time of the last request, by ``clock``.
        in_flight: The number of reviews that wait for facts, other than the pod of a Binding, or
            for ``ReviewThread``.
    """

    def __init__(
        self,
        context: ReviewContext,
        limits: Limits,
        observers: Observers,
        tls: ssl.SSLContext | None = None,
        clients: Clients | None = None,
    ) -> None:
        """
        Start without a connection; inside a running event loop.

        Args:
            tls: None serves plain HTTP.
            clients: The clients that may call, by a certificate that ``tls`` requires; None admits
                all clients.
        """
        super().__init__(limits, limits.connections, tls)
        self._clients = clients
        self._known: set[web.RequestHandler] = set()
        self._waiting: dict[web.RequestHandler, _Call] = {}  # until ``answer`` takes them
        self.context = context
        self.in_flight = 0
        self.last_call = self.clock()
        self._bodies = Bodies(limits)
        self._thread = ReviewThread()
        metrics, self._log = observers.metrics, observers.log
        self._throttle = Throttle(limits.refusals_logged, self.clock)
        soon = asyncio.get_running_loop().call_soon
        self._reporter = ReviewReporter(observers, self._throttle, soon)
        self._rejected = cache(metrics.rejected.labels)
        metrics.in_flight.set_function(lambda: self.in_flight)
        metrics.connections.set_function(lambda: len(self.callers))
        metrics.body_bytes.set_function(lambda: self._bodies.held)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Check the client's certificate, once for all requests of the connection."""
        super().connection_made(handler, transport)
        if self._clients is not None:
            session: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
            if session is not None and self._clients.admit(session.getpeercert(binary_form=True)):
                self._known.add(handler)

    def connection_lost(
        self, handler: web.RequestHandler, exc: BaseException | None = None
    ) -> None:
        """Forget a closed connection."""
        super().connection_lost(handler, exc)
        self._known.discard(handler)
        call = self._waiting.pop(handler, None)
        if call is not None and asyncio.iscoroutine(call.missing):
            call.missing.close()  # Python warns of one that nothing awaits

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        self.last_call = started = self.clock()
        uid, long = "", 0  # long: the size of a body that counts until its review is answered
        connection = request.protocol
        assert isinstance(connection, HttpConnection)
        call = self._waiting.pop(connection, None)
        try:
            if call is None:
                call, timeout = await self._read(connection, request, started)
                long, uid = call.long, call.review.uid
                self.callers.prove(connection, started)
                missing = fetch(call.review, call.hook, call.context, timeout)
            else:
                missing, uid = call.missing, call.review.uid
            review, hook, context = call.review, call.hook, call.context
            if missing is not None:
                # A wait for a pod has limits of its own, and takes no place of other reviews.
                work = missing if hook is BindHook.BIND else self._wait(missing, call.left)
                context = context._replace(facts=await work or context.facts)
            if long and hook is not BindHook.BIND:  # only the event loop may change ranks
                verdict, written = await self._decide_long(review, hook, context, call.left)
            else:
                verdict, written = decide(review, hook, context)
            response = self._answer(request, written)
        except Exception as error:  # noqa: BLE001  # the caller needs an answer, whatever failed
            response = self._refuse(error, _describe(request, connection, uid))
        else:
            seconds = self.clock() - call.started
            self._reporter.take(AnsweredReview(review, hook, verdict, seconds))
        finally:
            if long:
                self._bodies.free(long)
        if self.draining:
            response.force_close()
        return response

    def answer_now(
        self, connection: HttpConnection, message: http_parser.RawRequestMessage, body: bytes
    ) -> bytes | None:
        """Answer a short review whose facts are known; ``answer`` takes all others, and errors."""
        self.last_call = started = self.clock()
        try:
            hook, timeout = self._admit(connection, message.path, message.method, message.headers)
            left = self._time_left(connection, started, timeout)
            context = self.context
            review = admission.decode(body, context.policy.pod_templates)
            self.callers.prove(connection, started)
            if (missing := fetch(review, hook, context, timeout)) is not None:
                call = _Call(started, hook, left, context, review, missing=missing)
                self._waiting[connection] = call  # for ``answer``, which is next
                return None
            verdict, written = decide(review, hook, context)
        except Exception:  # noqa: BLE001  # whatever it is, it fails ``answer`` too
            return None
        self._reporter.take(AnsweredReview(review, hook, verdict, self.clock() - started))
        return review_reply(written)

    def refused(self, reason: str, peer: str) -> None:
        """Count a connection that never became a request."""
        self._turn_away(reason, peer=peer)

    def failed(self, status: int, error: BaseException | None, peer: str) -> None:
        """Count invalid HTTP, and log an exception that ``answer`` should have handled."""
        is_bug = status >= web.HTTPInternalServerError.status_code
        self._turn_away("bug" if is_bug else "malformed", peer=peer, status=status)
        if error is not None and not isinstance(error, HttpProcessingError):
            log_bug(self._log, error)

    def _admit(
        self, connection: HttpConnection, path: str, method: str, headers: Mapping[str, str]
    ) -> tuple[AnyHook, float]:
        """Check everything but the body, the client first."""
        if self._clients is not None and connection not in self._known:
            raise ReviewError("the client certificate has none of the required names", 403)
        target = read_target(path)
        hook = HOOK_PATHS.get(target.path)
        if hook is None:
            raise ReviewError("not found: reviews go to /mutate, /validate and /bind", 404)
        if method != hdrs.METH_POST:
            raise ReviewError("reviews must be sent by POST", 405)
        media_type = headers.get(hdrs.CONTENT_TYPE, "")
        if media_type != JSON and media_type.partition(";")[0].strip().lower() != JSON:
            raise ReviewError(f"the Content-Type must be {JSON}", 415)
        if hdrs.CONTENT_ENCODING in headers:
            raise ReviewError("the body must not be encoded", 415)
        if not connection.admitted and self.overload.busy and self.overload.is_full(self.clock()):
            raise OverloadError("queued")
        return hook, target.timeout or self.limits.default_timeout

    async def _read(
        self, connection: HttpConnection, request: web.BaseRequest, started: float
    ) -> tuple[_Call, float]:
        """
        Read a review, and the timeout of its caller.

        If this succeeds, the body of a long one counts until it is freed.
        """
        path, method = request.raw_path, request.method
        hook, timeout = self._admit(connection, path, method, request.headers)
        body = self._bodies.read_short(request) or await self._bodies.read(request, timeout)
        long = len(body) if len(body) > self.limits.long_review else 0
        try:
            left = self._time_left(connection, started, timeout)
            context = self.context
            if long:
                bodies, body = [body], b""  # else this frame would keep it while it is decoded
                review = await self._decode_long(bodies, context.policy, left)
            else:
                review = admission.decode(body, context.policy.pod_templates)
        except BaseException:  # a cancellation too: nobody else frees the body
            if long:
                self._bodies.free(long)
            raise
        return _Call(started, hook, left, context, review, long), timeout

    async def _decode_long(
        self, bodies: list[bytes | bytearray], policy: Policy, seconds: float
    ) -> AdmissionRequest:
        """Decode the one body in a list, which is empty afterwards, in the thread."""
        work = partial(decode_only, bodies, policy)
        run = self._thread.run(work, nullcontext, self.limits.queued)
        return await self._wait(run, seconds)

    async def _decide_long(
        self, review: AdmissionRequest, hook: AnyHook, context: ReviewContext, seconds: float
    ) -> tuple[Verdict, bytes]:
        work = partial(decide, review, hook, context)
        return await self._wait(self._thread.run(work, context.freeze), seconds)

    async def _wait(self, work: Awaitable[Result], seconds: float) -> Result:
        """Wait for what a review needs, the only time when others are answered meanwhile."""
        self.in_flight += 1
        try:
            async with asyncio.timeout(seconds):
                return await work
        finally:
            self.in_flight -= 1

    def _time_left(self, connection: HttpConnection, started: float, timeout: float) -> float:
        """Seconds left for the answer, now that the body is complete; refuses if there are none."""
        if self.in_flight >= self.limits.in_flight:
            raise OverloadError("in-flight")
        now = self.clock()
        connection.admitted = False
        if self.overload.is_late(now - connection.received, now):
            raise OverloadError("queued")
        left = started + timeout * self.limits.request_share - now
        if left <= 0:
            raise TimeoutError
        return min(left, self.limits.request)

    def _answer(self, request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        stays = request.keep_alive and request.version == HttpVersion11 and not self.draining
        return ReviewResponse(body) if stays else reply(200, body, JSON)

    def _refuse(self, error: Exception, about: dict[str, str]) -> web.StreamResponse:
        """
        Build the reply to a request without a verdict: the one mapping of errors to statuses.

        Args:
            about: Names the request in the log.
        """
        match error:
            case ReviewError():
                reason = REJECTION_REASONS.get(error.status, "malformed")
                self._turn_away(reason, status=error.status, problem=str(error), **about)
                return self._refusal(error)
            case OverloadError():
                self._turn_away(error.bound, status=503, problem=str(error), **about)
                return text_reply(503, str(error), {"Retry-After": str(self.limits.retry_after)})
            case TimeoutError():
                self._turn_away("late", status=504, **about)
                return text_reply(504, "the answer would come too late")
            case ConnectionError():
                self._turn_away("disconnected", **about)
                return text_reply(400, "the connection is gone")
            case _:
                uid = about.get("uid", "")
                self._turn_away("bug", status=500, **about)
                log_bug(self._log, error, uid=uid)
                return text_reply(500, f"a bug in evenspread: see its log about request {uid}")

    def _refusal(self, error: ReviewError) -> web.StreamResponse:
        response = text_reply(error.status, str(error), HEADERS.get(error.status))
        if error.status == web.HTTPForbidden.status_code:
            response.force_close()  # the client's next request would be refused too
        return response

    def _turn_away(self, reason: str, **about: object) -> None:
        self._rejected(reason).inc()
        missed = self._throttle.admit()
        if missed is not None:
            self._log.warning("rejected", reason=reason, missed=missed, **about)
