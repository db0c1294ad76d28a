"""Mass estimators."""
