"""Recorded conversations: written at the seam between client and HTTP, and answered from there."""
