"""A private auction: what a lie gains, tried in full, and what payments change.

Five bidders want something that costs nothing to copy.  The price is chosen privately.  Every bid
of the first bidder is tried against every true value: no lie gains more than tanh(epsilon / 2).
Then the same bidders choose among three outcomes, and pay so that the truth is best.
"""

from __future__ import annotations

from ameles.mechanisms.truthful import DigitalGoodsAuction, PrivateVcg
from ameles.noise import System

PRICES = 10
OTHERS = [3, 5, 8, 9]


def main() -> None:
    """Tries all lies, then runs both mechanisms once."""
    auction = DigitalGoodsAuction(
        epsilon="0.5", agents=1 + len(OTHERS), prices=PRICES, neighbours="replace"
    )
    best, told = 0.0, (0, 0)
    for value in range(PRICES + 1):
        gains = []
        for bid in range(PRICES + 1):
            law = auction.law([bid, *OTHERS])
            bought = [(price, p) for price, p in enumerate(law, 1) if bid >= price]
            gains.append(sum(p * (value - price) / PRICES for price, p in bought))
        lie = max(range(PRICES + 1), key=gains.__getitem__)
        if gains[lie] - gains[value] > best:
            best, told = gains[lie] - gains[value], (value, lie)
    print(f"the best lie: value {told[0]}, bid {told[1]}, gains {best:.4f}")
    print(f"promised: no lie gains more than {auction.gain:.4f}")
    print(f"the price of one auction: {auction.start(System()).step([7, *OTHERS])}")

    vcg = PrivateVcg(
        epsilon=2, payment_epsilon=1, agents=3, outcomes=3, units=10, neighbours="replace"
    )
    result = vcg.start(System()).step([[10, 0, 2], [9, 1, 0], [0, 8, 0]])
    payments = ", ".join(f"{float(payment):+.2f}" for payment in result.payments)
    print(f"\nwith payments: outcome {result.outcome}; each is told their own payment: {payments}")
    print(f"one other agent learns {vcg.joint_loss}, all others together {vcg.loss}")


if __name__ == "__main__":
    main()
