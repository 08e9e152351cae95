"""
Manifests mended: what the messages say is written into them, and nothing else is touched.

A table says for each rule what to write (``remedies``). What is to be changed is told as a change
of the value that a document holds (``changes``), made by the smallest edits of its text
(``placing``, ``edits``), and read again before anybody gets to see it (``mending``).
"""
