-- The tables as the numbered scripts make them, for a new state. TestNewTables -update writes this file.

CREATE TABLE rs_block (
	set_id INTEGER NOT NULL,
	lo     BLOB    NOT NULL,
	rows   INTEGER NOT NULL, -- deleted ones included
	count  INTEGER NOT NULL, -- resources
	bytes  INTEGER NOT NULL, -- of their entries
	newest INTEGER NOT NULL,
	PRIMARY KEY (set_id, lo)
) WITHOUT ROWID;

CREATE TABLE rs_change (
	set_id INTEGER NOT NULL,
	at     INTEGER NOT NULL,
	change TEXT    NOT NULL,
	key    BLOB    NOT NULL,
	size   INTEGER NOT NULL, -- of the entry in a Change List, in bytes
	body   BLOB    NOT NULL,
	PRIMARY KEY (set_id, at)
) WITHOUT ROWID;

CREATE TABLE rs_cover (
	set_id    INTEGER PRIMARY KEY,
	made      TEXT NOT NULL,            -- the number of the statements that made the triggers; '' if ours have dropped them
	covers    TEXT NOT NULL,            -- what the triggers cover, by the same statements
	proof     TEXT NOT NULL DEFAULT '', -- triggers and database, as they were when the journal was complete
	restarted INTEGER NOT NULL DEFAULT 0,  -- when the journal began anew; 0: never
	reason    TEXT NOT NULL DEFAULT ''  -- why
, moved INTEGER NOT NULL DEFAULT 0);

CREATE TABLE rs_division (
	set_id INTEGER NOT NULL,
	every  INTEGER NOT NULL,
	cuts   BLOB    NOT NULL, counts BLOB, at INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (set_id, every)
) WITHOUT ROWID;

CREATE TABLE rs_erased (
	set_id INTEGER NOT NULL,
	uri    TEXT NOT NULL,
	at     INTEGER NOT NULL,
	PRIMARY KEY (set_id, uri)
) WITHOUT ROWID;

CREATE TABLE rs_guard (
	set_id     INTEGER PRIMARY KEY,
	net        INTEGER NOT NULL, -- deletions less creations of this period
	earlier    INTEGER NOT NULL, -- and of the one before
	period     INTEGER NOT NULL, -- when this period began
	held       INTEGER NOT NULL, -- deletions that are held
	since      INTEGER NOT NULL, -- since when there are such
	quiet      INTEGER NOT NULL, -- since when nothing of it has come back
	confirmed  INTEGER NOT NULL, -- how many of them may be published
	unreadable INTEGER NOT NULL  -- resources kept because the last scan could not see them
);

CREATE TABLE "rs_hub_cursor" (
	log_id     INTEGER NOT NULL,
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
	PRIMARY KEY (log_id, topic, hub)
) WITHOUT ROWID;

CREATE TABLE rs_leaving (
	id     INTEGER PRIMARY KEY,
	set_id INTEGER NOT NULL,
	key    BLOB NOT NULL,
	uri    TEXT NOT NULL
);

CREATE TABLE "rs_log" (
	id   INTEGER PRIMARY KEY,
	name TEXT    NOT NULL UNIQUE
, requests INTEGER NOT NULL DEFAULT 0);

CREATE TABLE rs_note (
	owner BLOB NOT NULL,
	key BLOB NOT NULL,
	value BLOB NOT NULL,
	PRIMARY KEY (owner, key)
) WITHOUT ROWID;

CREATE TABLE rs_notification (
	topic_id        INTEGER NOT NULL,
	number          INTEGER NOT NULL,
	made            INTEGER NOT NULL,
	from_ns         INTEGER, -- nanoseconds since 1970
	until_ns        INTEGER,
	capability_list BLOB    NOT NULL,
	body            BLOB    NOT NULL, size INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (topic_id, number)
);

CREATE TABLE rs_pending (
	id       INTEGER PRIMARY KEY,
	set_id   INTEGER NOT NULL,
	change   TEXT    NOT NULL, -- created, updated or deleted
	key      BLOB    NOT NULL,
	body     BLOB,             -- the resource, encoded; else it is in the columns below
	uri      TEXT,
	lastmod  INTEGER,
	length   INTEGER,
	type     TEXT,
	encoding TEXT,
	hash     TEXT              -- as in a document: "md5:… sha-256:…"
, recorded INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)));

CREATE TABLE rs_progress (
	id            INTEGER PRIMARY KEY,
	log_id        INTEGER NOT NULL,
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
, refused_since INTEGER NOT NULL DEFAULT -62135596800000000, last_delivered INTEGER NOT NULL DEFAULT -62135596800000000);

CREATE TABLE rs_request (
	log_id   INTEGER NOT NULL,
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
	due      INTEGER, newest INTEGER, -- when the claim of the owner ends
	PRIMARY KEY (log_id, id),
	UNIQUE (topic_id, digest)
);

CREATE TABLE rs_resource (
	set_id INTEGER NOT NULL,
	key    BLOB    NOT NULL,
	newest INTEGER NOT NULL, -- the newest change
	size   INTEGER NOT NULL, -- of the entry in a Resource List, in bytes
	place  INTEGER NOT NULL, -- hash of the path and query of its URI, or 0
	body   BLOB,
	PRIMARY KEY (set_id, key)
) WITHOUT ROWID;

CREATE TABLE rs_seal (
	set_id INTEGER NOT NULL,
	until  INTEGER NOT NULL,
	PRIMARY KEY (set_id, until)
) WITHOUT ROWID;

CREATE TABLE rs_set (
	id      INTEGER PRIMARY KEY,
	name    TEXT    NOT NULL UNIQUE,
	journal INTEGER NOT NULL, -- 1: a journal alone, without resources
	ready   INTEGER NOT NULL, -- 0: awaits its first scan
	begin   INTEGER NOT NULL, -- when the history of the set began
	since   INTEGER NOT NULL, -- from when the journal is complete
	last    INTEGER NOT NULL, -- the newest change
	count   INTEGER NOT NULL  -- resources
, origin TEXT, archive INTEGER NOT NULL DEFAULT 0, forgotten INTEGER NOT NULL DEFAULT 0, erased INTEGER NOT NULL DEFAULT 0);

CREATE TABLE rs_subscription (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	log_id   INTEGER NOT NULL,
	topic_id INTEGER NOT NULL,
	digest   BLOB    NOT NULL, -- of the callback
	callback BLOB    NOT NULL,
	host     BLOB    NOT NULL,
	client   BLOB    NOT NULL, -- who asked for it
	secret   BLOB,
	made     INTEGER NOT NULL,
	UNIQUE (topic_id, digest)
);

CREATE TABLE rs_topic (
	id        INTEGER PRIMARY KEY,
	log_id INTEGER NOT NULL,
	uri       BLOB    NOT NULL,
	number    INTEGER NOT NULL, -- of the newest notification
	until_ns  INTEGER,          -- nanoseconds since 1970
	documents BLOB    NOT NULL,
	used      INTEGER NOT NULL, subscriptions INTEGER NOT NULL DEFAULT 0,
	UNIQUE (log_id, uri)
);

CREATE TABLE rs_window (
	set_id INTEGER NOT NULL,
	most   INTEGER NOT NULL, -- changes in a window
	until  INTEGER NOT NULL,
	count  INTEGER NOT NULL,
	bytes  INTEGER NOT NULL,
	PRIMARY KEY (set_id, most, until)
) WITHOUT ROWID;

CREATE TABLE rs_withdrawn (
	set_id INTEGER NOT NULL,
	key    BLOB    NOT NULL,
	at     INTEGER NOT NULL, -- when it was withdrawn
	size   INTEGER NOT NULL, -- these three are as in rs_resource before
	place  INTEGER NOT NULL,
	body   BLOB    NOT NULL,
	PRIMARY KEY (set_id, key)
) WITHOUT ROWID;

CREATE INDEX rs_block_newest ON rs_block (set_id, newest);

CREATE INDEX rs_leaving_uri ON rs_leaving (set_id, substr(uri, 1, 500));

CREATE INDEX rs_progress_due ON rs_progress (log_id, due) WHERE due IS NOT NULL;

CREATE INDEX rs_progress_expires ON rs_progress (log_id, expires);

CREATE INDEX rs_progress_taken ON rs_progress (topic_id, taken) WHERE due IS NULL;

CREATE INDEX rs_request_client ON rs_request (log_id, client, id);

CREATE INDEX rs_resource_place ON rs_resource (set_id, place) WHERE place <> 0;

CREATE INDEX rs_subscription_client ON rs_subscription (log_id, client);

CREATE INDEX rs_subscription_host ON rs_subscription (log_id, host);

INSERT INTO rs_migration (number) VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16), (17), (18), (19), (20), (21), (-22), (-23), (23), (-24), (24), (-25);
