"""Keys that are discovered while a stream runs, and the counts of those that are public."""

from ameles.mechanisms.discovery.discovery_run import DiscoveryRun
from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
from ameles.mechanisms.discovery.key_steps import KeyInputs, KeyOutputs
from ameles.mechanisms.discovery.user_book import UserBook
from ameles.mechanisms.discovery.user_records import bounded
from ameles.mechanisms.discovery.user_states import UserStates

__all__ = [
    "DiscoveryRun",
    "KeyDiscovery",
    "KeyInputs",
    "KeyOutputs",
    "UserBook",
    "UserStates",
    "bounded",
]
