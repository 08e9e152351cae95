"""What the tests of all packages share."""

pytest_plugins = ["tests.controlplane.fixtures"]
