"""The parser of requests."""

import asyncio

import pytest
from aiohttp import http_parser
from aiohttp.base_protocol import BaseProtocol

from webhook.server.http.parser import ParserError, require_c_parser, stays_open


def test_the_c_parser_is_there() -> None:
    require_c_parser()


def test_a_server_without_the_c_parser_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_parser, "HttpRequestParser", http_parser.HttpRequestParserPy)

    with pytest.raises(ParserError, match="aiohttp has no C parser: install its wheel"):
        require_c_parser()


def parsed(head: str) -> object:
    """What aiohttp parses of the head of a request."""
    loop = asyncio.new_event_loop()
    try:
        parser = http_parser.HttpRequestParser(BaseProtocol(loop), loop, 2**16)
        ((message, _),), _, _ = parser.feed_data(head.replace("\n", "\r\n").encode())
    finally:
        loop.close()
    return message


HEADS = {
    "usual": ("POST /mutate HTTP/1.1\nHost: a\n\n", True),
    "closing": ("POST /mutate HTTP/1.1\nHost: a\nConnection: close\n\n", False),
    "older": ("POST /mutate HTTP/1.0\nHost: a\nConnection: keep-alive\n\n", False),
    "upgrading": ("GET / HTTP/1.1\nHost: a\nConnection: upgrade\nUpgrade: websocket\n\n", False),
}


@pytest.mark.parametrize(("head", "stays"), HEADS.values(), ids=HEADS)
def test_only_a_request_of_http_1_1_leaves_its_connection_open(head: str, stays: bool) -> None:
    assert stays_open(parsed(head)) is stays


def test_broken_http_does_not_leave_its_connection_open() -> None:
    assert not stays_open(object())
