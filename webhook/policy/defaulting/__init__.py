"""
Default constraints: which profile a pod gets, with which selector, and how that is recorded.

``inject`` is the entry point, ``selector`` derives the selector from Services and owners, and
``provenance`` writes the annotation by which a later call recognizes its own constraints.
"""
