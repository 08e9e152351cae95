"""
Export of a policy to resources that work without a webhook.

``mutating`` writes MutatingAdmissionPolicies. ``cel`` writes the expressions in them. Each export
lists what the resources cannot do, as ``Omission`` values of ``exported``. No I/O.
"""
