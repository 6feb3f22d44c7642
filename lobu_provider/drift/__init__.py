"""What a recorded agent did, and how another recording of the same conversation differs."""
