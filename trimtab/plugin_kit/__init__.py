"""Tools for authors of plug-ins: list them, scaffold one, test its operators."""
