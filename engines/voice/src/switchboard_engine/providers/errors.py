"""What goes wrong between an entry of the catalogue and a service."""


class ProviderError(Exception):
    """A service cannot be made; the message is a sentence that says what is missing, and where to give it."""
