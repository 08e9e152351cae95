"""
Configuration files of the webhook: read, validate and summarize them.

``files.load`` reads files into a ``configuration.Configuration``. ``gates.gates_in_force`` and
``configuration.policy`` derive from it the feature gates and the policy for requests. Flags and
environment variables are in ``settings``. This module imports none of them, so that the help of a
command loads only what it shows.
"""
