"""Tests of the voice conversation."""
