"""What ``doctor`` looks at, one file for each part of the world."""
