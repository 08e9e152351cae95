"""
What is wrong with an installation, and what to do about it.

``gathering`` looks at a cluster, with the rights of whoever asks, and gives an ``Installation``;
the ``checks`` are a table of pure functions over that value; ``waiting`` waits for a server.
"""
