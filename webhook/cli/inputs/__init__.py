"""Inputs that options name: manifests, a cluster, a policy, hypothetical changes."""
