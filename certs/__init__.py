"""Certificates of the admission server: created, stored, rotated, served."""
