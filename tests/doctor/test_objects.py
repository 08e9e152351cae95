"""Small objects of an installation."""

from webhook.doctor.objects import Secret, decode_base64


def test_certificates_of_a_secret_are_decoded() -> None:
    secret = Secret({"tls.crt": "UEVN"})

    assert secret.certificates("tls.crt") == b"PEM"
    assert secret.certificates("ca.crt") == b""


def test_invalid_base64_is_empty() -> None:
    assert decode_base64("!") == b""
