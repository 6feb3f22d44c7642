"""Assertions over what a Lobu provider returned: pure functions, without any other package.

``judge(check, context)`` gives promptfoo's grading result. node_shim/assertions.js is the same in
JavaScript; tests/assertions/golden.json holds both to the same verdicts and words.
``transform(name, context)`` gives a text that a model grades.
"""
