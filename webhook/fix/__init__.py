"""
Fixes of manifests: write what a finding's message proposes, and change nothing else.

``engine`` is the entry point. ``remedies`` is the table of what to write for each rule, as changes
of a document's value (``changes``). ``locate`` turns a change into the smallest edits of the text,
``conflicts`` selects the changes that can be made together, and ``file`` reads the edited text
again to verify it. Only ``atomic`` writes files.
"""
