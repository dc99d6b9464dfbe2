"""Mechanisms whose participants have interests: truthful, or with advice worth following."""

from ameles.mechanisms.truthful.congestion import CongestionGame, Settled
from ameles.mechanisms.truthful.digital_goods import DigitalGoodsAuction
from ameles.mechanisms.truthful.facility import MedianLocation, facility_location
from ameles.mechanisms.truthful.large_game import Advice, LargeGame, beach_or_mountain
from ameles.mechanisms.truthful.prices import Market, PriceDiscovery
from ameles.mechanisms.truthful.privacy_cost import (
    information_cost,
    largest_information,
    loss_cost,
    outcome_cost,
)
from ameles.mechanisms.truthful.punishing import (
    Commitments,
    PunishingMechanism,
    smallest_punishment,
)
from ameles.mechanisms.truthful.reports import largest_gain
from ameles.mechanisms.truthful.surveyor import SurveyorAuction, surveyor_for_accuracy
from ameles.mechanisms.truthful.vcg import Auctioned, PrivateVcg
from ameles.mechanisms.truthful.vote import TwoOutcomeVote

__all__ = [
    "Advice",
    "Auctioned",
    "Commitments",
    "CongestionGame",
    "DigitalGoodsAuction",
    "LargeGame",
    "Market",
    "MedianLocation",
    "PriceDiscovery",
    "PrivateVcg",
    "PunishingMechanism",
    "Settled",
    "SurveyorAuction",
    "TwoOutcomeVote",
    "beach_or_mountain",
    "facility_location",
    "information_cost",
    "largest_gain",
    "largest_information",
    "loss_cost",
    "outcome_cost",
    "smallest_punishment",
    "surveyor_for_accuracy",
]
