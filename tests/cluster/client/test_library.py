"""
An upgrade of kubernetes_asyncio that changes what ``library`` relies on fails here.

Each import is one of a fresh process, since the tests of other modules import the library as well.
"""

import json
import subprocess
import sys
from inspect import signature
from typing import Any

import pytest

from webhook.cluster.client.library import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
    Configuration,
    KubeConfigLoader,
    KubeConfigMerger,
    RESTClientObject,
    load_incluster_config,
)

PREAMBLE = """
import json, sys
from pathlib import Path

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20

def modules():
    return {name for name in sys.modules if name.partition(".")[0] == "kubernetes_asyncio"}
"""

GENERATED = ("kubernetes_asyncio.client.api.", "kubernetes_asyncio.client.models.")
"""Beginnings of the names of modules of one class each; there are 840 of them."""

MOST_MODULES = 20  # of the library; today 15
MOST_MIB = 12.0  # of everything that the client imports beyond aiohttp; today 4


def run(program: str) -> Any:
    """Run a program in a process of its own, and return what it prints as JSON."""
    command = [sys.executable, "-c", PREAMBLE + program]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def test_its_import_loads_no_models_and_takes_little_memory() -> None:
    names, added = run("""
import aiohttp
before = resident()
import webhook.cluster.client
print(json.dumps([sorted(modules()), resident() - before]))
""")

    assert "kubernetes_asyncio.config.kube_config" in names
    assert [name for name in names if name.startswith(GENERATED)] == []
    assert len(names) <= MOST_MODULES
    assert added <= MOST_MIB


def test_the_rest_of_the_library_can_be_imported_later() -> None:
    found = run("""
import webhook.cluster.client.library as ours
from kubernetes_asyncio import client, config, dynamic, stream, utils, watch
from kubernetes_asyncio.client import *
from kubernetes_asyncio.client import CoreV1Api, V1Pod, models
import asyncio
async def deserialise():
    async with client.ApiClient(ours.Configuration()) as api:
        return api._ApiClient__deserialize({"metadata": {"name": "web-0"}}, "V1Pod")
pod = asyncio.run(deserialise())
print(json.dumps({
    "deserialised": isinstance(pod, V1Pod) and pod.metadata.name,
    "configuration": client.Configuration is ours.Configuration is Configuration,
    "loader": config.kube_config.KubeConfigLoader is ours.KubeConfigLoader,
    "models": models.V1Pod is V1Pod is client.V1Pod,
    "missing": [name for name in client.__all__ if name not in globals()],
    "modules": len(modules()),
}))
""")

    assert found.pop("modules") > 800
    assert found == {
        "deserialised": "web-0",
        "configuration": True,
        "loader": True,
        "models": True,
        "missing": [],
    }


def test_a_library_that_is_imported_already_is_used_as_it_is() -> None:
    assert run("""
from kubernetes_asyncio import client, config
import webhook.cluster.client.library as ours
print(json.dumps([
    client.Configuration is ours.Configuration,
    config.kube_config.KubeConfigLoader is ours.KubeConfigLoader,
    "__getattr__" in vars(client),
]))
""") == [True, True, False]


def test_two_threads_may_import_the_client_at_the_same_time() -> None:
    assert run("""
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
with ThreadPoolExecutor(2) as threads:
    first, second = threads.map(import_module, ["webhook.cluster.client"] * 2)
print(json.dumps(first is second and len(modules()) < 20))
""")


@pytest.mark.parametrize(
    "attribute",
    [
        "host", "verify_ssl", "ssl_ca_cert", "cert_file", "key_file", "tls_server_name", "proxy",
        "proxy_headers", "disable_strict_ssl_verification",
    ],
)  # fmt: skip
def test_a_configuration_has_every_setting_of_a_connection(attribute: str) -> None:
    assert attribute in vars(Configuration()) or hasattr(Configuration, attribute)


async def test_a_configuration_prefixes_its_token() -> None:
    configuration: Any = Configuration()
    configuration.api_key["BearerToken"] = "Bearer token"

    assert await configuration.get_api_key_with_prefix("BearerToken") == "Bearer token"


def test_basic_authentication_works_without_the_import_of_urllib3() -> None:
    configuration: Any = Configuration()
    configuration.username, configuration.password = "ann", "secret"

    assert configuration.get_basic_auth_token() == "Basic YW5uOnNlY3JldA=="


def test_loaders_take_the_arguments_that_are_passed() -> None:
    signature(KubeConfigMerger).bind("files")
    signature(KubeConfigLoader).bind({}, "context", config_base_path=None)
    signature(KubeConfigLoader.load_and_set).bind(object(), Configuration())
    signature(load_incluster_config).bind(
        Configuration(), try_refresh_token=False, token_filename="", cert_filename="", environ={}
    )


async def test_the_session_of_the_rest_client_can_be_taken_over() -> None:
    session = RESTClientObject(Configuration()).pool_manager
    connector = session.connector

    session.detach()

    assert connector is not None
    await connector.close()


def test_a_service_account_is_where_kubelet_mounts_it() -> None:
    """Source: kubernetes plugin/pkg/admission/serviceaccount ``DefaultAPITokenMountPath``."""
    folder = "/var/run/secrets/kubernetes.io/serviceaccount"

    assert f"{folder}/token" == SERVICE_TOKEN_FILENAME
    assert f"{folder}/ca.crt" == SERVICE_CERT_FILENAME
    assert SERVICE_HOST_ENV_NAME == "KUBERNETES_SERVICE_HOST"
