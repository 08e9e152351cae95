"""
AdmissionReviews on the wire, and the requests and verdicts in them.

``decode`` turns a body into an ``AdmissionRequest``, ``encode`` turns a ``Verdict`` into a body.
Neither waits for anything or knows about sockets.

Source: k8s.io/api admission/v1; apiserver pkg/admission/plugin/webhook/request.
"""

from webhook.admission.decode import decode
from webhook.admission.encode import audit_annotations, encode

__all__ = ["audit_annotations", "decode", "encode"]
