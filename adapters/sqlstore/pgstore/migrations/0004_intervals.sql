-- Intervals exclude their beginning and include their end: rs_set.since is the time
-- after which a journal is complete, and rs_window.until the last that a window
-- includes. Before, a change at exactly such a time came after it. Where there is
-- one, the time moves to the microsecond before; elsewhere nothing need move, because
-- every later change has a later time.

UPDATE rs_set SET since = since - 1
WHERE EXISTS (SELECT 1 FROM rs_change WHERE rs_change.set_id = rs_set.id AND rs_change.at = rs_set.since);

-- In two steps, because one window may move to where another has been.
UPDATE rs_window SET until = 1 - until
WHERE EXISTS (SELECT 1 FROM rs_change WHERE rs_change.set_id = rs_window.set_id AND rs_change.at = rs_window.until);

UPDATE rs_window SET until = -until WHERE until < 0;

-- Whole microseconds become those before; a host's own time with more digits was a
-- nanosecond after its newest change.
UPDATE rs_topic SET until_ns = until_ns - CASE WHEN until_ns % 1000 = 0 THEN 1000 ELSE 1 END
WHERE until_ns IS NOT NULL;
