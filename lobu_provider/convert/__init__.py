"""Suites of other eval formats, written as a promptfoo config."""
