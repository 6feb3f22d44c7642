"""What runs before and after a whole promptfoo run: repair, advice, preflight and sweep."""
