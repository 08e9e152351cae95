"""
Kubeconfig files, as ``kubectl`` writes them.

Expected: a ``SourceError`` that names the file, or settings of a connection. No command is run: a
kubeconfig with a plugin is read for its contexts only.
"""

import asyncio
import os
from pathlib import Path
from tempfile import mkdtemp

from tests.fuzz.targets import expect
from webhook.cluster.client.credentials import ApiAccess, Connection, make_loader
from webhook.cluster.client.kubeconfig import kubeconfig_error
from webhook.cluster.protocol import describe_error
from webhook.errors import SourceError

TOKENS = (
    b"apiVersion: v1\n", b"kind: Config\n", b"clusters:\n- name: a\n  cluster:\n",
    b"    server: https://127.0.0.1:1\n", b"    certificate-authority-data: ", b"QQ==\n",
    b"    certificate-authority: ca.crt\n", b"    insecure-skip-tls-verify: true\n",
    b"    tls-server-name: a\n", b"    proxy-url: http://127.0.0.1:1\n",
    b"contexts:\n- name: a\n  context:\n", b"    cluster: a\n", b"    user: a\n",
    b"users:\n- name: a\n  user:\n", b"    token: t\n", b"    tokenFile: t\n",
    b"    username: u\n", b"    password: p\n", b"    client-certificate-data: ",
    b"    client-key-data: ", b"    auth-provider:\n", b"current-context: a\n",
    b"preferences: {}\n", b"extensions:\n", b"---\n", b"null", b"[]", b"{}", b'""', b"&a ", b"*a",
    b"!!python/name:os ", b"\t", b"{{",
)  # fmt: skip

_FOLDER = Path(mkdtemp(prefix="evenspread-fuzz-"))
_FILE = _FOLDER / "config"
_PLUGINS = (b"exec", b"auth-provider", b"\\", b"!", b"*", b"%", b"\x00")  # could spell a plugin
_DEVICES = (b"/dev", b"/proc", b"/sys")  # whose content may have no end


def check(data: bytes) -> None:
    """Read a kubeconfig, and the settings in it."""
    _FILE.write_bytes(data)
    for context in ("", "a"):
        error = kubeconfig_error(str(_FILE), context)
        if error is not None:
            expect(str(_FILE) in str(error), "an error without its file")
            expect(error.problem, "an error has no message")
    if not any(word in data for word in (*_PLUGINS, *_DEVICES)):
        asyncio.run(_check_settings())


async def _check_settings() -> None:
    access = ApiAccess(kubeconfig=str(_FILE), environ=dict(os.environ))
    try:
        connection = Connection(await make_loader(access)(), strict=True)
    except SourceError as error:
        expect(str(_FILE) in str(error), "an error without its file")
        return
    except Exception as error:  # noqa: BLE001 - the library's; the caller describes any of them
        expect(describe_error(error), "an error has no message")
        return
    expect(isinstance(connection.host, str), "no address")
