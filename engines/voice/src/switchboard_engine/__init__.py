"""The voice engine of Switchboard: it carries the audio of calls that the service hands out."""

__version__ = "0.1.0"
