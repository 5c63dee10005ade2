"""A/B comparisons: interleaved measurement of two arms, and the statistics that judge it."""
