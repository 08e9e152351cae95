"""
Exec plugins: the programs that a kubeconfig names to obtain credentials.

``ExecPlugin.refresh`` is the entry point; its user's entry of the kubeconfig then holds the
credentials. A plugin that does not end in time is killed, with the processes that it started.

Source: client-go pkg/apis/clientauthentication/v1 ``ExecCredential``.
"""

import asyncio
import os
import signal
import sys
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from subprocess import DEVNULL
from typing import Annotated, Any, TypeAlias

import msgspec

from webhook.cluster.protocol import DECODE_ERRORS, describe_error
from webhook.errors import SourceError

PLUGIN_S = 10.0  # seconds for a plugin; the usual ones take less than two
LOGIN_S = 120.0  # seconds for a plugin if a user at a terminal may have to log in
EXPIRY_MARGIN = timedelta(minutes=5)  # as in kubernetes_asyncio; loads are a minute apart
DRAIN_S = 0.5  # seconds for the rest of the output, which another process may keep open
OUTPUT_BYTES = 256 * 1024  # of output that is kept; tokens and certificates take a few KiB


_Text: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[^\0]*\Z")]  # uvloop stops at a NUL


class _Variable(msgspec.Struct):
    name: _Text
    value: _Text


class _Entry(msgspec.Struct, rename="camel"):
    command: _Text
    args: list[_Text] | None = None
    env: list[_Variable] | None = None
    api_version: str = ""


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Credential(msgspec.Struct):
    status: _Status


_decode_credential = msgspec.json.Decoder(_Credential).decode


class ExecPlugin:
    """The exec plugin of a user."""

    def __init__(
        self, files: str, user: dict[str, Any], now: Callable[[], datetime], seconds: float
    ) -> None:
        """
        Take the plugin from a user's entry.

        Args:
            files: Names the kubeconfig in errors.
            now: Wall clock.
            seconds: After which the plugin is killed.
        """
        self._files = files
        self._user = user
        entry = user.pop("exec")
        self._entry: dict[str, Any] = entry if isinstance(entry, dict) else {}
        self._now = now
        self._seconds = seconds
        self._expires: datetime | None = None

    async def refresh(self) -> None:
        """
        Put new credentials into the user's entry, unless the last ones have not expired.

        Raises:
            SourceError: The plugin fails; the error names it.
        """
        if self._expires is not None and self._now() + EXPIRY_MARGIN < self._expires:
            return
        try:
            status = _decode_credential(await self._run()).status
            expires = status.expiration_timestamp and status.expiration_timestamp.astimezone(UTC)
        except (*DECODE_ERRORS, OverflowError):  # in UTC, the year may be 0 or 10 000
            raise self._error("printed no ExecCredential with a status") from None
        if not status.token and not (status.client_certificate_data and status.client_key_data):
            raise self._error("printed neither a token nor a client certificate with its key")
        self._expires = expires
        self._user["token"] = status.token
        self._user["client-certificate-data"] = _encode(status.client_certificate_data)
        self._user["client-key-data"] = _encode(status.client_key_data)

    async def _run(self) -> bytes:
        """Run the plugin, and return what it prints."""
        entry, interactive = self._read_entry(), sys.stdin.isatty()
        added = {variable.name: variable.value for variable in entry.env or ()}
        wanted = {"kind": "ExecCredential", "spec": {"interactive": interactive}}
        wanted["apiVersion"] = entry.api_version
        added["KUBERNETES_EXEC_INFO"] = msgspec.json.encode(wanted).decode()
        try:
            transport, output = await asyncio.get_running_loop().subprocess_exec(
                _Output,
                *[entry.command, *(entry.args or ())],
                env={**os.environ, **added},
                stdin=None if interactive else DEVNULL,
                start_new_session=not interactive,  # a group of processes that can be killed
            )
        except (OSError, ValueError) as error:  # ValueError: a name with =
            raise self._error(f"cannot be started: {describe_error(error)}") from None
        seconds = LOGIN_S if interactive else self._seconds
        try:
            async with asyncio.timeout(seconds):
                await output.exited.wait()
            with suppress(TimeoutError):
                await asyncio.wait_for(output.closed.wait(), DRAIN_S)
        except TimeoutError:
            raise self._error(f"did not end in {seconds:g} s, and was killed") from None
        finally:
            if transport.get_returncode() is None and not interactive:
                with suppress(ProcessLookupError):  # it may end at this moment
                    os.killpg(transport.get_pid(), signal.SIGKILL)
            transport.close()  # kills the plugin if it runs
            with suppress(TimeoutError):
                await asyncio.wait_for(output.exited.wait(), DRAIN_S)
        if code := transport.get_returncode():
            last = bytes(output.data[2]).decode(errors="replace").strip().rpartition("\n")[2]
            raise self._error(f"ended with {code}: {last}")
        return bytes(output.data[1])

    def _read_entry(self) -> _Entry:
        try:
            return msgspec.convert(self._entry, _Entry)
        except msgspec.ValidationError as error:
            raise self._error(f"has an invalid entry: {error}") from None

    def _error(self, problem: str) -> SourceError:
        advice = "run the command of this user's exec entry by hand, and correct the entry"
        name = repr(self._entry.get("command"))
        return SourceError(self._files, f"the exec plugin {name} {problem}: {advice}")


class _Output(asyncio.SubprocessProtocol):
    """Collects the beginning of a program's output."""

    def __init__(self) -> None:
        self.data = {1: bytearray(), 2: bytearray()}  # standard output and error
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes), "pipes are binary"
        self.data[fd] += data[: OUTPUT_BYTES - len(self.data[fd])]

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.closed.set()


def _encode(text: str) -> str:
    return b64encode(text.encode()).decode()
