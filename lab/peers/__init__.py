"""Other engines on the same networks, interleaved in one run."""
