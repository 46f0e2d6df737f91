-- Notifications, and what hubs keep. Times are microseconds since 1970 unless
-- they say otherwise. URIs are bytes, as they came.
--
-- Topics and queues have the time when they were last known to be in use, to the
-- hour: what has not been for long is forgotten.

CREATE TABLE rs_outbox (
	id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text   NOT NULL UNIQUE
);

-- Where each topic of a Source stands. The row is made when the topic has begun.
CREATE TABLE rs_topic (
	id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	outbox_id bigint NOT NULL,
	uri       bytea  NOT NULL,
	number    bigint NOT NULL, -- of the newest notification
	until_ns  bigint,          -- nanoseconds since 1970
	documents bytea  NOT NULL,
	used      bigint NOT NULL,
	UNIQUE (outbox_id, uri)
) WITH (fillfactor = 50);

CREATE TABLE rs_notification (
	topic_id        bigint NOT NULL,
	number          bigint NOT NULL,
	made            bigint NOT NULL,
	from_ns         bigint, -- nanoseconds since 1970
	until_ns        bigint,
	capability_list bytea  NOT NULL,
	body            bytea  NOT NULL,
	PRIMARY KEY (topic_id, number)
);

-- How far each hub has come. A queue can be there before its topic has begun.
CREATE TABLE rs_queue (
	outbox_id     bigint NOT NULL,
	topic         bytea  NOT NULL,
	hub           bytea  NOT NULL,
	taken         bigint NOT NULL,
	failures      bigint NOT NULL,
	failing_since bigint NOT NULL,
	last_error    text   NOT NULL,
	retry         bigint NOT NULL,
	refused       bigint NOT NULL,
	lost          bigint NOT NULL,
	last_refused  bigint NOT NULL,
	refused_error text   NOT NULL,
	used          bigint NOT NULL,
	PRIMARY KEY (outbox_id, topic, hub)
) WITH (fillfactor = 50);

CREATE TABLE rs_hub (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name     text   NOT NULL UNIQUE,
	requests bigint NOT NULL -- that were ever made: the id of the newest
) WITH (fillfactor = 50);

CREATE TABLE rs_hub_topic (
	id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	hub_id        bigint NOT NULL,
	uri           bytea  NOT NULL,
	newest        bigint NOT NULL, -- number of the newest message
	subscriptions bigint NOT NULL, -- how many there are
	UNIQUE (hub_id, uri)
) WITH (fillfactor = 50);

CREATE TABLE rs_message (
	topic_id     bigint NOT NULL,
	number       bigint NOT NULL,
	tag          bytea  NOT NULL, -- the message's ID
	published    bigint NOT NULL,
	size         bigint NOT NULL, -- of the body, in bytes
	content_type bytea  NOT NULL,
	links        bytea  NOT NULL,
	body         bytea  NOT NULL,
	PRIMARY KEY (topic_id, number),
	UNIQUE (topic_id, tag)
);

-- What awaits verification.
CREATE TABLE rs_request (
	hub_id   bigint NOT NULL,
	id       bigint NOT NULL,
	topic_id bigint NOT NULL,
	digest   bytea  NOT NULL, -- of the callback
	callback bytea  NOT NULL,
	host     bytea  NOT NULL,
	client   bytea  NOT NULL,
	ends     bigint NOT NULL, -- 1: a request to unsubscribe
	secret   bytea,
	lease    bigint NOT NULL, -- microseconds
	made     bigint NOT NULL,
	owner    text,
	due      bigint, -- when the claim of the owner ends
	PRIMARY KEY (hub_id, id),
	UNIQUE (topic_id, digest)
);

-- Subscriptions: what seldom changes, and how far each has come, which changes
-- with every message.
CREATE TABLE rs_subscription (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	hub_id   bigint NOT NULL,
	topic_id bigint NOT NULL,
	digest   bytea  NOT NULL, -- of the callback
	callback bytea  NOT NULL,
	host     bytea  NOT NULL,
	client   bytea  NOT NULL, -- who asked for it
	secret   bytea,
	made     bigint NOT NULL,
	UNIQUE (topic_id, digest)
);

CREATE INDEX rs_subscription_host ON rs_subscription (hub_id, host);
CREATE INDEX rs_subscription_client ON rs_subscription (hub_id, client);

CREATE TABLE rs_progress (
	id            bigint NOT NULL PRIMARY KEY,
	hub_id        bigint NOT NULL,
	topic_id      bigint NOT NULL,
	expires       bigint NOT NULL,
	due           bigint, -- when it can be claimed: after its retry, or the end of a claim; NULL: at any time
	owner         text,
	changed       bigint NOT NULL, -- 1: by a request, since it was claimed
	taken         bigint NOT NULL,
	failures      bigint NOT NULL,
	failing_since bigint NOT NULL,
	last_error    text   NOT NULL,
	retry         bigint NOT NULL,
	delivered     bigint NOT NULL,
	given_up      bigint NOT NULL,
	last_given_up bigint NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- Who waits for messages, by how far they are behind, and who for the time.
CREATE INDEX rs_progress_taken ON rs_progress (topic_id, taken) WHERE due IS NULL;
CREATE INDEX rs_progress_due ON rs_progress (hub_id, due) WHERE due IS NOT NULL;
