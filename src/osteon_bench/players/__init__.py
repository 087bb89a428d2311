"""Players that others made, as judges of our files: Khronos' validator, engines of the web, USD, and engines of games.

None of them is needed to use Osteon. `scripts/install-players` puts the packages of the web's engines and the validator
into `tests/players` of a checkout and looks for Chromium; `scripts/test-engines` installs those that are too large for
that. Where a player is missing, its `why_no_…` says so in one line.
"""
