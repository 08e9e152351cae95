"""Who trusts whom in a control plane: one CA, one serving certificate, bearer tokens of users."""

import base64
import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

USERS = {
    "admin": "system:masters",  # may do everything, and RBAC cannot take it away
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
}
"""User name to group: those for whom the API server's own RBAC rules are made at its start."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """
    Files in one folder, made once; all components of a control plane share them.

    Attributes:
        folder: Where they are.
        tokens: User name to bearer token.
    """

    folder: Path
    tokens: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        """Make the keys and write the files."""
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.ca)
        serving = authority.issue_cert("localhost", "127.0.0.1")
        serving.private_key_and_cert_chain_pem.write_to_path(self.serving)
        self.service_account_key.write_bytes(
            ec.generate_private_key(ec.SECP256R1()).private_bytes(
                Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
            )
        )
        self.tokens.update((user, secrets.token_urlsafe()) for user in USERS)
        self.token_file.write_text(
            "".join(f'{self.tokens[user]},{user},{user},"{USERS[user]}"\n' for user in USERS)
        )

    @property
    def ca(self) -> Path:
        """The certificate that signed the serving certificate, as PEM."""
        return self.folder / "ca.pem"

    @property
    def serving(self) -> Path:
        """Key and certificate for localhost and 127.0.0.1, as PEM; of every component."""
        return self.folder / "serving.pem"

    @property
    def service_account_key(self) -> Path:
        """Private key that signs tokens of ServiceAccounts, as PEM."""
        return self.folder / "service-accounts.key"

    @property
    def token_file(self) -> Path:
        """What kube-apiserver's ``--token-auth-file`` takes."""
        return self.folder / "tokens.csv"

    def kubeconfig(self, url: str, token: str, *, namespace: str = "default") -> str:
        """A kubeconfig, as JSON (which is YAML), that needs no other file."""
        authority = base64.b64encode(self.ca.read_bytes()).decode()
        cluster = {"server": url, "certificate-authority-data": authority}
        context = {"cluster": "test", "user": "test", "namespace": namespace}
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "test", "cluster": cluster}],
                "users": [{"name": "test", "user": {"token": token}}],
                "contexts": [{"name": "test", "context": context}],
                "current-context": "test",
            }
        )
