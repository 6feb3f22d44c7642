"""Look whether a gateway can be used, without sending a message: shared by doctor and preflight."""
