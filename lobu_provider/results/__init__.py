"""promptfoo's results files: what stands in them, and what that means.

Pure functions over rows, apart from :mod:`files`, which reads. Knows nothing of gateways, and of
rows only promptfoo's shape: rows of other providers are read too.
"""
