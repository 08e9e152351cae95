"""
The floor: the least that an admission server on aiohttp can do, in a process of its own.

    python tests/bench/floor.py PORT CERTIFICATE KEY

A handler behind aiohttp's router reads the body and answers a constant, over TLS on uvloop.
Nothing else is switched off that the product has on; nothing is on that the product has off.
The path ``/allow`` is for an API server: it answers with the uid of the review.
"""

import asyncio
import gc
import re
import ssl
import sys

import uvloop
from aiohttp import web

ANSWER = (
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":'
    b'{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":true}}'
)
UID = re.compile(rb'"uid":"([^"]+)"')  # that of the request is the first one in a review
HEADERS = {"Content-Type": "application/json"}
LARGEST_BODY = 8 * 2**20  # bytes; as the product's


async def answer(request: web.Request) -> web.Response:
    """Read the body, and do not look at it."""
    await request.read()
    return web.Response(body=ANSWER, headers=HEADERS)


async def allow(request: web.Request) -> web.Response:
    """Allow a review, and look at its uid alone."""
    if not (found := UID.search(await request.read())):
        raise web.HTTPBadRequest
    return web.Response(body=UID.sub(found[0], ANSWER), headers=HEADERS)


async def serve(port: int, certificate: str, key: str) -> None:
    """Serve until killed."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    app = web.Application(client_max_size=LARGEST_BODY)
    app.router.add_post("/allow", allow)
    app.router.add_post("/{hook}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls).start()
    gc.collect()
    gc.freeze()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), *sys.argv[2:4]))
