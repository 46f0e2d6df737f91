-- A notification is stored once: messages of hubs become notifications, and hubs and
-- outboxes become logs. A message is the notification of its topic with the same
-- content. Notifications that an outbox has cleared away are numbered downwards from
-- the oldest that is left.

ALTER TABLE rs_outbox RENAME TO rs_log;
ALTER TABLE rs_log ADD COLUMN requests INTEGER NOT NULL DEFAULT 0; -- that were ever made: the id of the newest
INSERT INTO rs_log (name) SELECT name FROM rs_hub WHERE true ON CONFLICT (name) DO NOTHING;

ALTER TABLE rs_topic RENAME COLUMN outbox_id TO log_id;
ALTER TABLE rs_topic ADD COLUMN subscriptions INTEGER NOT NULL DEFAULT 0; -- how many there are
ALTER TABLE rs_notification ADD COLUMN size INTEGER NOT NULL DEFAULT 0; -- of the body, in bytes
UPDATE rs_notification SET size = length(body);
ALTER TABLE rs_queue RENAME TO rs_hub_cursor;
ALTER TABLE rs_hub_cursor RENAME COLUMN outbox_id TO log_id;

-- The topic of each topic of a hub: of the same URI, and rather in the log of the same
-- name. A hub may have topics that no outbox has.
CREATE TABLE rs_moved_topic (old INTEGER PRIMARY KEY, id INTEGER NOT NULL);
INSERT INTO rs_moved_topic (old, id)
	SELECT old, id FROM (
		SELECT old, id, row_number() OVER (PARTITION BY id ORDER BY same DESC, old) AS place FROM (
			SELECT h.id AS old, t.id AS id, CASE WHEN l.name = b.name THEN 1 ELSE 0 END AS same,
				row_number() OVER (PARTITION BY h.id ORDER BY CASE WHEN l.name = b.name THEN 0 ELSE 1 END, t.id) AS choice
			FROM rs_hub_topic h JOIN rs_hub b ON b.id = h.hub_id JOIN rs_topic t ON t.uri = h.uri JOIN rs_log l ON l.id = t.log_id) c
		WHERE choice = 1) d
	WHERE place = 1;
INSERT INTO rs_topic (log_id, uri, number, documents, used)
	SELECT l.id, h.uri, 0, x'', CAST(unixepoch('subsec') * 1000000 AS INTEGER)
	FROM rs_hub_topic h JOIN rs_hub b ON b.id = h.hub_id JOIN rs_log l ON l.name = b.name
	WHERE NOT EXISTS (SELECT 1 FROM rs_moved_topic v WHERE v.old = h.id);
INSERT INTO rs_moved_topic (old, id)
	SELECT h.id, t.id
	FROM rs_hub_topic h JOIN rs_hub b ON b.id = h.hub_id JOIN rs_log l ON l.name = b.name JOIN rs_topic t ON t.log_id = l.id AND t.uri = h.uri
	WHERE NOT EXISTS (SELECT 1 FROM rs_moved_topic v WHERE v.old = h.id);

-- The number of each message as a notification.
CREATE TABLE rs_moved_message (topic_id INTEGER, old INTEGER, number INTEGER NOT NULL, found INTEGER NOT NULL, PRIMARY KEY (topic_id, old));
INSERT INTO rs_moved_message (topic_id, old, number, found)
	SELECT topic_id, old, CASE WHEN number IS NOT NULL THEN number ELSE first - row_number() OVER
			(PARTITION BY topic_id, CASE WHEN number IS NULL THEN 0 ELSE 1 END ORDER BY old DESC) END,
		CASE WHEN number IS NULL THEN 0 ELSE 1 END
	FROM (
		SELECT m.topic_id, m.number AS old,
			(SELECT max(n.number) FROM rs_notification n WHERE n.topic_id = v.id AND n.size = m.size AND n.body = m.body) AS number,
			(SELECT coalesce(min(n.number), t.number + 1) FROM rs_notification n WHERE n.topic_id = v.id) AS first
		FROM rs_message m JOIN rs_moved_topic v ON v.old = m.topic_id JOIN rs_topic t ON t.id = v.id) x;
INSERT INTO rs_notification (topic_id, number, made, capability_list, size, body)
	SELECT v.id, x.number, m.published, CASE WHEN instr(CAST(m.links AS TEXT), '>; rel="resourcesync"') = 0 THEN x'' ELSE CAST(substr(
		CAST(m.links AS TEXT), instr(CAST(m.links AS TEXT), ', <') + 3,
		instr(CAST(m.links AS TEXT), '>; rel="resourcesync"') - instr(CAST(m.links AS TEXT), ', <') - 3) AS BLOB) END, m.size, m.body
	FROM rs_moved_message x JOIN rs_message m ON m.topic_id = x.topic_id AND m.number = x.old JOIN rs_moved_topic v ON v.old = x.topic_id
	WHERE x.found = 0;

-- A subscription continues before the first message that it has not taken, or after
-- all. If there never was one, it continues where the hubs of its topic are.
UPDATE rs_progress SET
	last_given_up = coalesce((SELECT number FROM rs_moved_message x WHERE x.topic_id = rs_progress.topic_id AND x.old = last_given_up), last_given_up),
	taken = coalesce(
		(SELECT min(number) - 1 FROM rs_moved_message x WHERE x.topic_id = rs_progress.topic_id AND x.old > rs_progress.taken),
		(SELECT max(number) FROM rs_moved_message x WHERE x.topic_id = rs_progress.topic_id),
		(SELECT min(q.taken) FROM rs_moved_topic v JOIN rs_topic t ON t.id = v.id JOIN rs_hub_cursor q ON q.log_id = t.log_id AND q.topic = t.uri
			WHERE v.old = rs_progress.topic_id),
		(SELECT t.number FROM rs_moved_topic v JOIN rs_topic t ON t.id = v.id WHERE v.old = rs_progress.topic_id));

-- Ids pass through negative numbers, because they are unique at every moment.
ALTER TABLE rs_progress RENAME COLUMN hub_id TO log_id;
UPDATE rs_progress SET topic_id = (SELECT id FROM rs_moved_topic v WHERE v.old = rs_progress.topic_id);
UPDATE rs_progress SET log_id = (SELECT t.log_id FROM rs_topic t WHERE t.id = topic_id);
ALTER TABLE rs_subscription RENAME COLUMN hub_id TO log_id;
UPDATE rs_subscription SET topic_id = -(SELECT id FROM rs_moved_topic v WHERE v.old = rs_subscription.topic_id);
UPDATE rs_subscription SET topic_id = -topic_id, log_id = (SELECT t.log_id FROM rs_topic t WHERE t.id = -topic_id);
UPDATE rs_topic SET subscriptions = (SELECT count(*) FROM rs_subscription s WHERE s.topic_id = rs_topic.id);

CREATE TABLE rs_moved_request (hub_id INTEGER, old INTEGER, id INTEGER NOT NULL, PRIMARY KEY (hub_id, old));
INSERT INTO rs_moved_request (hub_id, old, id) SELECT hub_id, id, row_number() OVER (ORDER BY hub_id, id) FROM rs_request;
UPDATE rs_request SET topic_id = -(SELECT id FROM rs_moved_topic v WHERE v.old = rs_request.topic_id),
	id = -(SELECT x.id FROM rs_moved_request x WHERE x.hub_id = rs_request.hub_id AND x.old = rs_request.id);
ALTER TABLE rs_request RENAME COLUMN hub_id TO log_id;
UPDATE rs_request SET topic_id = -topic_id, id = -id, log_id = (SELECT t.log_id FROM rs_topic t WHERE t.id = -topic_id);
UPDATE rs_log SET requests = (SELECT count(*) FROM rs_moved_request) + (SELECT coalesce(max(requests), 0) FROM rs_hub);

DROP TABLE rs_moved_request;
DROP TABLE rs_moved_message;
DROP TABLE rs_moved_topic;
DROP TABLE rs_message;
DROP TABLE rs_hub_topic;
DROP TABLE rs_hub;
