"""Reference players and validators of the files: the Khronos validator, web engines, UsdSkel, and game engines.

None of them is needed to use Osteon. `scripts/install-players` installs the packages of the web engines and the
validator into `tests/players` of a checkout and Chromium; `scripts/test-engines` installs the larger engines. Where a
player is missing, its function `why_no_…` returns the reason in one line.
"""
