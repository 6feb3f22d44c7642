"""The files that a first evaluation of an agent needs."""
