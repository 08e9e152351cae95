"""
AdmissionReviews on the wire, and the requests and verdicts that they carry.

``reading`` makes an ``AdmissionRequest`` of a body, ``writing`` makes a body of a ``Verdict``; both
wait for nothing and know no socket.

Source: k8s.io/api admission/v1; apiserver pkg/admission/plugin/webhook/request.
"""

from webhook.admission.decode import decode, template_in
from webhook.admission.encode import audit_annotations, encode

__all__ = ["audit_annotations", "decode", "encode", "template_in"]
