-- Notifications, and what hubs keep. Times are microseconds since 1970 unless
-- they say otherwise. URIs are bytes, as they came.
--
-- Topics and queues have the time when they were last known to be in use, to the
-- hour: what has not been for long is forgotten.

CREATE TABLE rs_outbox (
	id   INTEGER PRIMARY KEY,
	name TEXT    NOT NULL UNIQUE
);

-- Where each topic of a Source stands. The row is made when the topic has begun.
CREATE TABLE rs_topic (
	id        INTEGER PRIMARY KEY,
	outbox_id INTEGER NOT NULL,
	uri       BLOB    NOT NULL,
	number    INTEGER NOT NULL, -- of the newest notification
	until_ns  INTEGER,          -- nanoseconds since 1970
	documents BLOB    NOT NULL,
	used      INTEGER NOT NULL,
	UNIQUE (outbox_id, uri)
);

CREATE TABLE rs_notification (
	topic_id        INTEGER NOT NULL,
	number          INTEGER NOT NULL,
	made            INTEGER NOT NULL,
	from_ns         INTEGER, -- nanoseconds since 1970
	until_ns        INTEGER,
	capability_list BLOB    NOT NULL,
	body            BLOB    NOT NULL,
	PRIMARY KEY (topic_id, number)
);

-- How far each hub has come. A queue can be there before its topic has begun.
CREATE TABLE rs_queue (
	outbox_id     INTEGER NOT NULL,
	topic         BLOB    NOT NULL,
	hub           BLOB    NOT NULL,
	taken         INTEGER NOT NULL,
	failures      INTEGER NOT NULL,
	failing_since INTEGER NOT NULL,
	last_error    TEXT    NOT NULL,
	retry         INTEGER NOT NULL,
	refused       INTEGER NOT NULL,
	lost          INTEGER NOT NULL,
	last_refused  INTEGER NOT NULL,
	refused_error TEXT    NOT NULL,
	used          INTEGER NOT NULL,
	PRIMARY KEY (outbox_id, topic, hub)
) WITHOUT ROWID;

CREATE TABLE rs_hub (
	id       INTEGER PRIMARY KEY,
	name     TEXT    NOT NULL UNIQUE,
	requests INTEGER NOT NULL -- that were ever made: the id of the newest
);

CREATE TABLE rs_hub_topic (
	id            INTEGER PRIMARY KEY,
	hub_id        INTEGER NOT NULL,
	uri           BLOB    NOT NULL,
	newest        INTEGER NOT NULL, -- number of the newest message
	subscriptions INTEGER NOT NULL, -- how many there are
	UNIQUE (hub_id, uri)
);

CREATE TABLE rs_message (
	topic_id     INTEGER NOT NULL,
	number       INTEGER NOT NULL,
	tag          BLOB    NOT NULL, -- the message's ID
	published    INTEGER NOT NULL,
	size         INTEGER NOT NULL, -- of the body, in bytes
	content_type BLOB    NOT NULL,
	links        BLOB    NOT NULL,
	body         BLOB    NOT NULL,
	PRIMARY KEY (topic_id, number),
	UNIQUE (topic_id, tag)
);

-- What awaits verification.
CREATE TABLE rs_request (
	hub_id   INTEGER NOT NULL,
	id       INTEGER NOT NULL,
	topic_id INTEGER NOT NULL,
	digest   BLOB    NOT NULL, -- of the callback
	callback BLOB    NOT NULL,
	host     BLOB    NOT NULL,
	client   BLOB    NOT NULL,
	ends     INTEGER NOT NULL, -- 1: a request to unsubscribe
	secret   BLOB,
	lease    INTEGER NOT NULL, -- microseconds
	made     INTEGER NOT NULL,
	owner    TEXT,
	due      INTEGER, -- when the claim of the owner ends
	PRIMARY KEY (hub_id, id),
	UNIQUE (topic_id, digest)
);

-- Subscriptions: what seldom changes, and how far each has come, which changes
-- with every message.
CREATE TABLE rs_subscription (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	hub_id   INTEGER NOT NULL,
	topic_id INTEGER NOT NULL,
	digest   BLOB    NOT NULL, -- of the callback
	callback BLOB    NOT NULL,
	host     BLOB    NOT NULL,
	client   BLOB    NOT NULL, -- who asked for it
	secret   BLOB,
	made     INTEGER NOT NULL,
	UNIQUE (topic_id, digest)
);

CREATE INDEX rs_subscription_host ON rs_subscription (hub_id, host);
CREATE INDEX rs_subscription_client ON rs_subscription (hub_id, client);

CREATE TABLE rs_progress (
	id            INTEGER PRIMARY KEY,
	hub_id        INTEGER NOT NULL,
	topic_id      INTEGER NOT NULL,
	expires       INTEGER NOT NULL,
	due           INTEGER, -- when it can be claimed: after its retry, or the end of a claim; NULL: at any time
	owner         TEXT,
	changed       INTEGER NOT NULL, -- 1: by a request, since it was claimed
	taken         INTEGER NOT NULL,
	failures      INTEGER NOT NULL,
	failing_since INTEGER NOT NULL,
	last_error    TEXT    NOT NULL,
	retry         INTEGER NOT NULL,
	delivered     INTEGER NOT NULL,
	given_up      INTEGER NOT NULL,
	last_given_up INTEGER NOT NULL
);

-- Who waits for messages, by how far they are behind, and who for the time.
CREATE INDEX rs_progress_taken ON rs_progress (topic_id, taken) WHERE due IS NULL;
CREATE INDEX rs_progress_due ON rs_progress (hub_id, due) WHERE due IS NOT NULL;
