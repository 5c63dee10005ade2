"""What measures trimtab itself: limits, counts, models of cores, baselines, peers, conformance."""
