"""What a manifest is written in: UTF-8, or the UTF-16 of PowerShell's ``>``."""

from webhook.errors import ManifestError, SourceError

_ENCODINGS = {  # by byte order mark
    b"\xef\xbb\xbf": "utf-8",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}


def decode(data: bytes | bytearray, source: str) -> str:
    """
    Read bytes as a text, without its byte order mark.

    Args:
        source: For messages.

    Raises:
        SourceError: They are no text.
    """
    mark, encoding = _encoding(data)
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, len(mark) + error.start)
        raise ManifestError(source, line, "no text: write it in UTF-8") from error
    if "\0" in text:
        raise SourceError(source, "a binary file: manifests are YAML or JSON")
    return text


def encode(text: str, like: bytes) -> bytes:
    """Write a text with the encoding, and the byte order mark, of other bytes."""
    mark, encoding = _encoding(like)
    return mark + text.encode(encoding)


def _encoding(data: bytes | bytearray) -> tuple[bytes, str]:
    marked = ((mark, name) for mark, name in _ENCODINGS.items() if data.startswith(mark))
    return next(marked, (b"", "utf-8"))
