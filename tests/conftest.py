"""What the tests of all packages share."""

import os
import signal

from hypothesis import settings

pytest_plugins = ["tests.controlplane.fixtures", "tests.deploy.fixtures"]

# A run repeats itself, and no test is timed; HYPOTHESIS_PROFILE=search looks further.
settings.register_profile("repeat", max_examples=100, deadline=None, derandomize=True)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

# A shell starts what runs in the background with this signal ignored, and children inherit that;
# tests that interrupt a program would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
