"""
The process of ``evenspread serve``: listeners, background tasks, and the order of start and stop.

``run`` is the composition root, ``build`` builds the parts, ``admission`` answers reviews. Verdicts
are decided in ``webhook.policy``, never here.
"""
