"""Numbers by which the compiled passes name what is wrong; no numba here."""

# Bits of `bad` per collective.
DISAGREES, INCOMPLETE, ALIEN, TWICE, NO_ROOT, TWO_ROOTS, NO_COMMUNICATOR = 1, 2, 4, 8, 16, 32, 64

# Codes of dependency errors.
UNKNOWN_MESSAGE, IS_PSEUDO, NOT_SENDER, NOT_RECEIVER, UNKNOWN_COLLECTIVE, NOT_MEMBER = 1, 2, 3, 4, 5, 6
