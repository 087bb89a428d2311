"""Players that others made, as judges of our files: Khronos' validator, three.js, USD's own skinning.

None of them is needed to use Osteon. `scripts/install-players` puts the packages of three.js and the validator into
`tests/players` of a checkout and looks for Chromium; where a player is missing, its `why_no_…` says so in one line.
"""
