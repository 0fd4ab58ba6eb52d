"""From the selected outputs to the published memory."""
