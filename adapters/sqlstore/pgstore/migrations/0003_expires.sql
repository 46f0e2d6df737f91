-- Subscriptions are cleared away by the time when they expire.
CREATE INDEX rs_progress_expires ON rs_progress (hub_id, expires);
