"""aiohttp's parser of requests: which one parses, and what it says of a connection."""

from typing import Any

from aiohttp import HttpVersion11, http_parser

from webhook.errors import EvenspreadError


class ParserError(EvenspreadError):
    """aiohttp's C parser is missing; its Python twin is slow and has accepted invalid requests."""


def require_c_parser() -> None:
    """
    Check that llhttp parses requests.

    Raises:
        ParserError: The code of PYSEC-2026-4371 would parse them.
    """
    if http_parser.HttpRequestParser is http_parser.HttpRequestParserPy:
        problem = "aiohttp has no C parser: install its wheel, and unset AIOHTTP_NO_EXTENSIONS"
        raise ParserError(problem)


def stays_open(message: Any) -> bool:
    """
    Whether a parsed message is a request as Go sends it, on a connection that stays as it is.

    It stays open and HTTP/1.1, and the body has a length.
    """
    if not isinstance(message, http_parser.RawRequestMessage):
        return False
    ends = message.upgrade or message.should_close or message.chunked
    return message.version == HttpVersion11 and not ends
