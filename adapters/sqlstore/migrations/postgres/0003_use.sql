-- When topics and queues were last known to be in use, to the hour. What has not
-- been for long is forgotten.

ALTER TABLE rs_topic ADD COLUMN used bigint NOT NULL DEFAULT 0;
ALTER TABLE rs_queue ADD COLUMN used bigint NOT NULL DEFAULT 0;

UPDATE rs_topic SET used = extract(epoch FROM now()) * 1000000;
UPDATE rs_queue SET used = extract(epoch FROM now()) * 1000000;
