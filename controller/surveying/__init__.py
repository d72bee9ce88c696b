"""What there is and what differs: `status` from the ledger, `drift` with a look at everything."""

from controller.surveying.listing import drift
from controller.surveying.standing import status

__all__ = ["drift", "status"]
