-- programs: 21
-- The number of the newest notification when a request to subscribe was made. Older programs leave it
-- out: their subscriptions begin after the newest notification when the subscriber has confirmed.
ALTER TABLE rs_request ADD COLUMN newest INTEGER;
