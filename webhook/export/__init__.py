"""
Export of a policy to resources that work without a webhook.

``mutating`` writes MutatingAdmissionPolicies, ``validating`` ValidatingAdmissionPolicies and
``scheduler`` a configuration of kube-scheduler; ``static`` writes policies as files, and ``drift``
compares them with those of a cluster. The other modules write expressions and parts of objects.
Each export lists what the resources cannot do, as ``Omission`` values. No I/O.
"""
