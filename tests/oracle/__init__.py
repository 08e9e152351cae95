"""Random conformance cases, judged by Kubernetes' own code: ``python -m tests.oracle``."""
