"""
Export of a policy to resources that work without a webhook.

``mutating`` writes MutatingAdmissionPolicies, ``validating`` ValidatingAdmissionPolicies and
``scheduler`` a configuration of kube-scheduler; ``static`` writes policies as files, and ``drift``
compares them with those of a cluster. ``cel``, ``apirules`` and ``constraintlists`` write
expressions. Each export lists what the resources cannot do, as ``Omission`` values. No I/O.
"""
