"""
A rolling update, step by step: whether it finishes, where it stops, and how even it ends.

``simulation.simulate`` is the entry point. ``sizes`` and ``statefulsets`` are what the controllers
decide, ``replicasets`` applies it to pods, ``placer`` is kube-scheduler, and ``search`` tries other
choices than the first one. ``state`` is what all of them share.
"""
