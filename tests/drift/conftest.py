"""As for cassettes: a folder with a script."""

from tests.cassettes.conftest import no_network, suite

__all__ = ["no_network", "suite"]
