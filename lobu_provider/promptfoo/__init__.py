"""promptfoo's vocabulary: its calls read, its responses built."""
