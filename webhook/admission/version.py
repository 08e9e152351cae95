"""The one version of AdmissionReviews that is read and written."""

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
