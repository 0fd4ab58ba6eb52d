"""The parameters and results of the wire, one module per area."""
