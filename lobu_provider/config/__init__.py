"""The provider's configuration: the model, where values come from, and what is wrong with them."""
