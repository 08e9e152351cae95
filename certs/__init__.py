"""Certificates of the admission server: made, stored, rotated, served."""
