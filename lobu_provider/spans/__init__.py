"""A conversation as spans, for promptfoo's ``trajectory:*`` and ``trace-*`` assertions."""
