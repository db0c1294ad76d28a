"""Digital copies of objects: format, library, loading."""
