"""Inputs that options name: manifests, a cluster, a policy, changes to suppose."""
