"""A client of the fake API server for ``evenspread doctor``."""

from collections.abc import Mapping

from tests.apiserver import ApiServer, Behavior
from webhook.doctor.client import DoctorClient


def client_of(answers: Mapping[str, Behavior]) -> DoctorClient:
    """Build a client of a server that gives these answers."""
    return DoctorClient(ApiServer(answers=answers))
