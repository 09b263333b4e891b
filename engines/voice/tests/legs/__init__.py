"""Tests of the legs, and the other sides that they call."""
