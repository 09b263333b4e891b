"""What the tests of this package share: a fake service, and quick engines."""
