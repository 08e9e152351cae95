"""
Manifests that kustomize builds: ``-k FOLDER`` runs ``kustomize build`` or ``kubectl kustomize``.

``KustomizeFolder`` marks a folder among the paths of ``-f``; ``build`` returns its manifests. The
program runs without a shell, with a time limit, and without the standard input.
"""

import os
import re
import shutil
import signal
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired

from webhook.errors import SourceError
from webhook.manifests.files import MANIFEST_BYTES, decode

PROGRAMS = (("kustomize", "build"), ("kubectl", "kustomize"))
"""Programs to try, in this order, with their subcommand."""

BUILD_S = 60.0  # seconds: a build may fetch bases and charts; local ones take less than one


class KustomizeFolder(str):
    """A folder with a kustomization, as the user named it."""

    __slots__ = ()

    @property
    def source(self) -> str:
        """Its name in messages: the command that builds it here."""
        _, program, subcommand = _find_program() or ("", *PROGRAMS[0])
        return f"{program} {subcommand} {self}"


def build(folder: KustomizeFolder, seconds: float = BUILD_S, most: int = MANIFEST_BYTES) -> str:
    """
    Build the manifests of a folder.

    Args:
        seconds: After which the program and its children are killed.
        most: Bytes of manifests that are accepted.

    Raises:
        SourceError: No program is installed, it fails, takes too long or prints too much.
    """
    process = _start(folder)
    try:
        output, errors = process.communicate(timeout=seconds)
    except TimeoutExpired:
        raise SourceError(folder.source, f"did not end in {seconds:g} s, and was killed") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode:
        problem = _describe_errors(errors) or f"exit {process.returncode}"
        raise SourceError(folder.source, f"failed: {problem}")
    if len(output) > most:
        raise SourceError(folder.source, f"printed more than {most >> 20} MiB")
    return decode(output, folder.source)


def _find_program() -> tuple[str, str, str] | None:
    """Find the path, the name and the subcommand of the first program that is installed."""
    for program, subcommand in PROGRAMS:
        path = shutil.which(program)
        if path is not None:
            return path, program, subcommand
    return None


def _start(folder: KustomizeFolder) -> "Popen[bytes]":
    found = _find_program()
    if found is None:
        names = " nor ".join(program for program, _ in PROGRAMS)
        problem = f"neither {names} is installed: install one, or build the manifests elsewhere"
        raise SourceError(folder.source, problem)
    path, _, subcommand = found
    return Popen(  # noqa: S603  # no shell; after -- the folder is no option
        [path, subcommand, "--", folder],
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,  # a group of processes that can be killed
    )


def _describe_errors(errors: bytes) -> str:
    """Join the lines of the standard error, without what kubectl's log adds to them."""
    lines = errors.decode(errors="replace").splitlines()
    joined = " ".join(" ".join(_log_header.sub("", line) for line in lines).split())
    found = _logged_error(joined)
    if found is None:
        return joined
    return found["lines"] or found["quoted"].replace('\\"', '"')


_log_header = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [^ \]]+:\d+\] ")
_logged_error = re.compile(r'"command failed" err=(?:"(?P<quoted>.*)"|< (?P<lines>.*) >)').fullmatch
"""
Source: k8s.io/klog/v2 ``formatHeader`` and ``KVFormat``; k8s.io/component-base/cli/run.go, by which
kubectl reports the errors of its commands.
"""
