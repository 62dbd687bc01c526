"""Why: from numbers to which half is at fault and what to try first."""
