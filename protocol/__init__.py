"""What crosses the wire: models, the one method list, error codes, schema export."""
