"""Documents of YAML and JSON, read from files as kubectl reads them, each with its place."""

from webhook.manifests.document import Document, expand, parse
from webhook.manifests.dump import as_yaml
from webhook.manifests.encoding import decode, encode
from webhook.manifests.files import (
    STDIN,
    Skipped,
    Unpack,
    objects_of,
    read_data,
    read_documents,
    read_file,
    read_text,
    source_of,
    walk,
)
from webhook.manifests.type_errors import Mistype, mistype
from webhook.policy.paths import is_array, is_object

__all__ = [
    "STDIN",
    "Document",
    "Mistype",
    "Skipped",
    "Unpack",
    "as_yaml",
    "decode",
    "encode",
    "expand",
    "is_array",
    "is_object",
    "mistype",
    "objects_of",
    "parse",
    "read_data",
    "read_documents",
    "read_file",
    "read_text",
    "source_of",
    "walk",
]
