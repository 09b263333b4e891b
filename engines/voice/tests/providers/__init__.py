"""Tests of the providers, against fakes of the vendors on loopback."""
