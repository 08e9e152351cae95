"""
Default constraints: the profile of a pod, the selector, and the record in an annotation.

``inject`` is the entry point, ``selector`` derives the selector from Services and owners, and
``provenance`` writes the annotation by which a later call recognizes its own constraints.
"""
