"""Which frames of a sequence show poses of their own, and which of those a fit should see."""
