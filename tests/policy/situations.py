"""A web application, and policies that give its pods defaults."""

from tests.build import facts, policy, profile
from webhook.policy.defaulting.profiles import SYSTEM_CONSTRAINTS, Merge, Profile

WEB = facts(app="web")
DEFAULTS = policy(profile())
ADDING = policy(profile(merge=Merge.PER_TOPOLOGY_KEY))
SYSTEM = Profile(name="system", constraints=SYSTEM_CONSTRAINTS, system=True)
