"""What measures trimtab itself: limits, counts, models of cores, sizes, peers, conformance."""
