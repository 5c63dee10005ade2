"""What measures trimtab itself: limits, models of cores, baselines, peers, conformance."""
