-- refused_since is the time since which the subscriber has refused every attempt to send
-- the next notification, in microseconds; the zero time if it has not refused the last one.
ALTER TABLE rs_progress ADD COLUMN refused_since INTEGER NOT NULL DEFAULT -62135596800000000;
