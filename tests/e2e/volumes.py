"""
The volumes of a pod, projected into folders as a kubelet does.

Files are links through ``..data``, which is swapped when something changes.

Source: Kubernetes pkg/volume/util/atomic_writer.go ``AtomicWriter``; pkg/volume/projected.
"""

import base64
import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.controlplane.api import Api, ApiError, Json

Content = dict[str, bytes]
"""File name to what is in it."""

TOKEN_MODE = 0o600  # for the user of the container alone, as since Kubernetes 1.19
FILE_MODE = 0o644  # defaultMode of every volume
SCRATCH_MODE = 0o777  # of an emptyDir


class Sources:
    """
    Where the content of volumes comes from, for one pod.

    Args:
        api: Of a cluster admin.
    """

    def __init__(self, api: Api, pod: Json) -> None:
        self.tokens: Content = {}
        self._api = api
        self._pod = pod

    def read(self, kind: str, name: str) -> Json:
        """An object of the pod's namespace."""
        metadata = {"name": name, "namespace": self._pod["metadata"]["namespace"]}
        return self._api.read({"apiVersion": "v1", "kind": kind, "metadata": metadata})

    def token(self, source: Json) -> Content:
        """Request a token of the pod's ServiceAccount, bound to the pod, once."""
        path = source["path"]
        if path not in self.tokens:
            named = {key: self._pod["metadata"][key] for key in ("name", "uid")}
            spec = {
                "expirationSeconds": source["expirationSeconds"],
                "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", **named},
            }
            name = self._pod["spec"]["serviceAccountName"]
            account = self._api.path_of(self.read("ServiceAccount", name) | ACCOUNT)
            made = self._api.call("POST", f"{account}/token", {"spec": spec})
            self.tokens[path] = made["status"]["token"].encode()
        return {path: self.tokens[path]}

    def field(self, path: str) -> bytes:
        """A field of the pod."""
        value = self._pod
        for member in path.split("."):
            value = value[member]
        return str(value).encode()


ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount"}


def config_map(sources: Sources, source: Json) -> Content:
    data = sources.read("ConfigMap", source["name"]).get("data", {})
    return chosen({key: text.encode() for key, text in data.items()}, source)


def secret(sources: Sources, source: Json) -> Content:
    data = sources.read("Secret", source["secretName"]).get("data", {})
    return chosen({key: base64.b64decode(one) for key, one in data.items()}, source)


def downward(sources: Sources, source: Json) -> Content:
    return {item["path"]: sources.field(item["fieldRef"]["fieldPath"]) for item in source["items"]}


def projected(sources: Sources, source: Json) -> Content:
    found: Content = {}
    for part in source["sources"]:
        ((kind, inner),) = part.items()
        found |= KINDS[kind](sources, inner)
    return found


def chosen(data: Content, source: Json) -> Content:
    """The items that a volume names; all, if it names none."""
    items = source.get("items")
    return data if items is None else {item["path"]: data[item["key"]] for item in items}


KINDS: dict[str, Callable[[Sources, Json], Content]] = {
    "configMap": config_map,
    "secret": secret,
    "serviceAccountToken": Sources.token,
    "downwardAPI": downward,
    "projected": projected,
}
"""Kinds of volumes, and of the parts of a projected one, that the manifests use."""


class Volumes:
    """
    What is mounted into the containers of one pod.

    Args:
        api: Of a cluster admin.
        folder: Where each volume gets a folder of its own.
        user: Id of the user of the containers, to whom the token belongs.
    """

    def __init__(self, api: Api, pod: Json, folder: Path, user: int) -> None:
        self._sources = Sources(api, pod)
        self._volumes: list[Json] = pod["spec"].get("volumes", [])
        self._folder = folder
        self._user = user
        self._written: dict[str, Content] = {}
        self._turns = itertools.count(1)

    def path(self, name: str) -> Path:
        """The folder of a volume."""
        return self._folder / name

    def sync(self) -> None:
        """Write what has changed; a kubelet gets to it within a minute or two."""
        for volume in self._volumes:
            name = volume["name"]
            self.path(name).mkdir(exist_ok=True)
            if "emptyDir" in volume:
                self.path(name).chmod(SCRATCH_MODE)
                continue
            (kind,) = volume.keys() - {"name"}
            try:
                content = KINDS[kind](self._sources, volume[kind])
            except ApiError:
                if name in self._written:  # removed since: what was mounted stays
                    continue
                raise
            if self._written.get(name) != content:
                self._write(self.path(name), content)
                self._written[name] = content

    def _write(self, folder: Path, content: Content) -> None:
        current, fresh = folder / "..data", folder / f"..{next(self._turns)}"
        old = folder / current.readlink() if current.is_symlink() else None
        fresh.mkdir()
        for name, data in content.items():
            self._write_file(fresh / name, data)
            if not (folder / name).is_symlink():
                (folder / name).symlink_to(f"..data/{name}")
        swapped = folder / "..data_tmp"
        swapped.symlink_to(fresh.name)
        swapped.replace(current)
        if old is not None:
            shutil.rmtree(old)

    def _write_file(self, file: Path, data: bytes) -> None:
        file.write_bytes(data)
        file.chmod(FILE_MODE)
        if data in self._sources.tokens.values():
            file.chmod(TOKEN_MODE)
            os.chown(file, self._user, -1)
