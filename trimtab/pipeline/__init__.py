"""From a model to a measured binary: the steps that the command line and Python share."""
