"""Lengths."""

FOOT = 0.3048
