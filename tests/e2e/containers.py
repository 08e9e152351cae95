"""
A container as a kubelet starts it, of programs of this machine instead of an image's.

Arguments, environment, mounts, user, privileges and the read-only root are those of the pod, the
program is the one that the image names. Not as in a cluster: the file system of the image, which
tests/deploy/test_image.py makes; a network of its own, for which an address of loopback stands;
limits of CPU and memory.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.controlplane.api import Json
from tests.deploy.test_image import read_stages
from tests.required import ENVTEST, skip_or_fail

REPOSITORY = Path(__file__).parents[2]
PACKAGES = ("webhook", "certs")

SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/proc", "/dev")))
"""What a program of this machine needs of it; those that there are, links as links."""

SET_BY_RUNTIME = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/",
}
"""
What an image need not set.

Source: containerd pkg/oci ``defaultUnixEnv``; runc libcontainer/init_linux.go ``setupUser``, which
takes the root for the home of a user that /etc/passwd does not know.
"""


ASSIGNED_USER = 1_000_650_000
"""
What OpenShift assigns to a pod that names no user: one of a range of its namespace, with group 0.

Source: openshift apiserver-library-go pkg/securitycontextconstraints/user ``mustRunAsRange``.
"""


def require_containers() -> None:
    """Skip the test where containers cannot be made; in CI it fails."""
    if obstacle := find_obstacle(os.geteuid()):
        skip_or_fail(f"running the pods as containers {obstacle}", ENVTEST)


def find_obstacle(user: int) -> str:
    """What a user lacks to make containers; empty if there is nothing."""
    if user != 0:
        return "needs root, for mounts and port 443: run it with sudo, or in a container"
    if sys.platform != "linux" or not all(map(shutil.which, ("unshare", "setpriv", "chroot"))):
        return "needs Linux, util-linux and coreutils"
    if subprocess.run(["unshare", "--mount", "--uts", "true"], check=False).returncode != 0:
        return "needs the right to unshare mounts"
    return ""


def user_of(pod: Json) -> int:
    """The id of the user that a pod runs as."""
    user: int = pod["spec"]["securityContext"].get("runAsUser", ASSIGNED_USER)
    return user


def command(
    pod: Json, root: Path, source: Path, volumes: Mapping[str, Path], environment: Mapping[str, str]
) -> list[str]:
    """
    What to run for the only container of a pod.

    Args:
        root: An empty folder, where its root is put together, seen by it alone.
        source: The tree that the program is taken from: what would be in the image.
        volumes: The folder of each volume.
        environment: What a kubelet adds to the container's own.
    """
    (container,) = pod["spec"]["containers"]
    image = dict(read_stages()[-1])
    steps = [
        f"echo {pod['metadata']['name']} > /proc/sys/kernel/hostname",
        f"mount -t tmpfs -o mode=0755 tmpfs {root}",
        *_programs(root, source),
    ]
    for mount in container.get("volumeMounts", []):
        mode = "ro" if mount.get("readOnly") else "rw"
        steps += _bound(volumes[mount["name"]], root, Path(mount["mountPath"]), mode)
    if container["securityContext"].get("readOnlyRootFilesystem"):
        steps.append(f"mount -o remount,ro {root}")
    program = [*_privileges(pod, container), *_program(container, image)]
    steps.append(shlex.join(["exec", "chroot", str(root), *program]))
    own = {variable["name"]: variable["value"] for variable in container.get("env", [])}
    written = dict(variable.split("=", 1) for variable in image["ENV"].split())
    variables = {**SET_BY_RUNTIME, "HOSTNAME": pod["metadata"]["name"]}
    variables |= {**written, **environment, **own}
    clean = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in variables.items())]
    return [*clean, "unshare", "--mount", "--uts", "sh", "-euc", "\n".join(steps)]


def _programs(root: Path, source: Path) -> Iterator[str]:
    for path in SYSTEM:
        if path.is_symlink():
            yield f"ln -s {path.readlink()} {root}{path}"
        elif path.exists():
            yield from _bound(path, root, path, "rw" if path.name in ("proc", "dev") else "ro")
    for prefix in dict.fromkeys(map(Path, (sys.base_prefix, sys.prefix))):
        if not any(prefix.is_relative_to(path) for path in SYSTEM):
            yield from _bound(prefix, root, prefix, "ro")
    for package in PACKAGES:
        yield from _bound(source / package, root, REPOSITORY / package, "ro")


def _bound(what: Path, root: Path, where: Path, mode: str) -> Iterator[str]:
    """Mount one folder in the root."""
    yield f"mkdir -p {root}{where}"
    yield f"mount -o rbind,{mode} {what} {root}{where}"


def _privileges(pod: Json, container: Json) -> Iterator[str]:
    """What is taken from the container, in the words of setpriv(1)."""
    of_pod, own = pod["spec"]["securityContext"], container["securityContext"]
    yield "/usr/bin/setpriv"
    yield f"--reuid={user_of(pod)}"
    yield f"--regid={of_pod.get('runAsGroup', 0)}"
    yield "--clear-groups"
    if own.get("allowPrivilegeEscalation") is False:
        yield "--no-new-privs"
    if "ALL" in own["capabilities"]["drop"]:
        yield from ("--inh-caps=-all", "--bounding-set=-all")


def _program(container: Json, image: Mapping[str, str]) -> Iterator[str]:
    """Entry point and arguments; our Python stands for that of the image."""
    _, *flags = container.get("command") or json.loads(image["ENTRYPOINT"])
    yield from (sys.executable, *flags, *(container.get("args") or json.loads(image["CMD"])))
