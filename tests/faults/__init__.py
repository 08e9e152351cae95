"""Fault cases that evenspread withstands, and the table of what shows each: ``make faults``."""
