"""The settings and the names that the parts of a server share."""

import socket

from tests.server.serving import server_context


def test_a_replica_has_the_name_of_the_settings_or_of_its_host() -> None:
    assert server_context(replica="a").replica == "a"
    assert server_context().replica == socket.gethostname()


def test_the_namespace_is_that_of_the_settings_or_of_the_pod() -> None:
    assert server_context(namespace="a").namespace == "a"
    assert server_context().namespace == ""


def test_each_server_has_its_own_metrics() -> None:
    assert server_context().metrics is not server_context().metrics
