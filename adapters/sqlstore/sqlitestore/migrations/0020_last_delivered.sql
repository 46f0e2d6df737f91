-- last_delivered is the time at which the subscriber accepted its newest notification, in
-- microseconds; the zero time if it is not known.
ALTER TABLE rs_progress ADD COLUMN last_delivered INTEGER NOT NULL DEFAULT -62135596800000000;
