package state

import (
	"fmt"

	"zombiezen.com/go/sqlite/sqlitex"
)

// The schema of a state has a version, the user_version of the database. A new state gets the
// schema, and an older one the upgrades, with the same result. A released upgrade never changes;
// a change of the schema is a new upgrade as well.
const oldest = 2

// upgrades[i] makes a state of version oldest+i one of the next version.
var upgrades = []string{upgrade3}

// version is the version of the states that this program writes.
var version = int64(oldest + len(upgrades))

// Times are nanoseconds since 1970; 0 is unknown. A resource of the copy has the metadata
// of its entry, the hashes and validators of its content, and the time of the change that
// it shows. seen is the number of the last baseline that listed it.
//
// A pending row is the newest known change of its resource. Its seq gives the order. Its
// content is also the member of a package, unless that is 0. entries is the number of
// bitstreams of a package, and baseline is 1 if they have no order.
const schema = `
CREATE TABLE mirror (source TEXT NOT NULL, list TEXT NOT NULL DEFAULT '');
CREATE TABLE sets (
	uri TEXT PRIMARY KEY,
	cursor INTEGER NOT NULL DEFAULT 0,
	baseline INTEGER NOT NULL DEFAULT 0,
	complete INTEGER NOT NULL DEFAULT 0,
	guard TEXT NOT NULL DEFAULT '{}',
	named TEXT NOT NULL DEFAULT '',
	missed INTEGER NOT NULL DEFAULT 0,
	base INTEGER NOT NULL DEFAULT 0,
	lag INTEGER NOT NULL DEFAULT -1
) WITHOUT ROWID;
CREATE TABLE document (
	uri TEXT PRIMARY KEY,
	etag TEXT NOT NULL,
	modified TEXT NOT NULL,
	sets TEXT NOT NULL DEFAULT '',
	at INTEGER NOT NULL DEFAULT 0,
	seen INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE resource (
	uri TEXT PRIMARY KEY,
	path TEXT NOT NULL,
	fold TEXT NOT NULL UNIQUE,
	sets TEXT NOT NULL,
	list TEXT NOT NULL,
	seen INTEGER NOT NULL,
	datetime INTEGER NOT NULL,
	lastmod INTEGER NOT NULL,
	length INTEGER NOT NULL,
	size INTEGER NOT NULL,
	hashes TEXT NOT NULL,
	etag TEXT NOT NULL,
	modified TEXT NOT NULL,
	asked INTEGER NOT NULL DEFAULT 0,
	vague INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX resource_list ON resource (list);
CREATE TABLE also (
	uri TEXT NOT NULL,
	sets TEXT NOT NULL,
	list TEXT NOT NULL,
	seen INTEGER NOT NULL,
	datetime INTEGER NOT NULL,
	PRIMARY KEY (uri, sets)
) WITHOUT ROWID;
CREATE INDEX also_list ON also (list);
CREATE TABLE pending (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	uri TEXT NOT NULL UNIQUE,
	sets TEXT NOT NULL,
	list TEXT NOT NULL,
	seen INTEGER NOT NULL,
	change TEXT NOT NULL,
	datetime INTEGER NOT NULL,
	lastmod INTEGER NOT NULL,
	length INTEGER NOT NULL,
	hashes TEXT NOT NULL,
	type TEXT NOT NULL,
	encoding TEXT NOT NULL,
	links TEXT NOT NULL,
	attempts INTEGER NOT NULL DEFAULT 0,
	error TEXT NOT NULL DEFAULT '',
	package INTEGER NOT NULL DEFAULT 0,
	member TEXT NOT NULL DEFAULT '',
	later INTEGER NOT NULL DEFAULT 0,
	doubt INTEGER NOT NULL DEFAULT 0,
	gone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX pending_package ON pending (package, seq) WHERE package > 0;
CREATE INDEX pending_later ON pending (later) WHERE later > 0;
CREATE TABLE package (
	id INTEGER PRIMARY KEY,
	uri TEXT NOT NULL UNIQUE,
	length INTEGER NOT NULL,
	entries INTEGER NOT NULL,
	baseline INTEGER NOT NULL,
	at INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE subscription (
	topic TEXT PRIMARY KEY,
	callback TEXT NOT NULL,
	secret TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE pause (host TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE moved (old TEXT NOT NULL, new TEXT NOT NULL);
CREATE TABLE placing (intents TEXT NOT NULL);
CREATE TABLE folder (path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE page (uri TEXT PRIMARY KEY, next TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE reading (
	id INTEGER PRIMARY KEY,
	sets TEXT NOT NULL,
	uri TEXT NOT NULL,
	date INTEGER NOT NULL,
	etag TEXT NOT NULL,
	modified TEXT NOT NULL,
	whole INTEGER NOT NULL,
	closed INTEGER NOT NULL,
	newest INTEGER NOT NULL,
	prints BLOB NOT NULL,
	UNIQUE (sets, uri)
);
`

// upgrade3 makes a state of version 2 one of version 3. Until that is released, columns are also added
// here, with defaults for what a state of version 2 does not know.
//
// later is the time before which a resource is not requested (Retry-After), and pause has such
// times of hosts. named is the document that led to a set, and missed the time when it first did
// not, or 0.
//
// placing has the contents that are about to be put in places where the copy has nothing, and the
// copies that are about to be deleted. folder has the paths of the folders that the copy has made.
//
// A document has been read for a set, as of at, and seen is the number of the baseline that read it
// last. A page is a document that another one continues. A copy can be restricted to a single list.
//
// A state of version 2 may lack changes and parts of lists that it has taken for resources. So
// all lists are read once more.
//
// How times are read: base is the at of the Resource Lists that were compared last, and lag the
// largest delay with which a change was listed, -1 if it is not known. asked is the Date of the
// answer to the last request for a resource. It is vague if its entry, as of then, cannot show a
// later change. A doubtful row is a question, see [Doubt], and gone is the time of the first
// answer of 404 or 410. A reading is the last one of a document with changes, for a set: prints has the digests of its
// entries, 8 bytes each, of all if whole is 1. It is closed if no entries follow, and newest is
// the latest of its from and the times of its entries.
//
// A package has contents as of at, or 0. moved has prefixes of former URIs of resources, and those that have replaced them.
const upgrade3 = `
ALTER TABLE pending ADD COLUMN later INTEGER NOT NULL DEFAULT 0;
CREATE INDEX pending_later ON pending (later) WHERE later > 0;
ALTER TABLE sets ADD COLUMN named TEXT NOT NULL DEFAULT '';
ALTER TABLE sets ADD COLUMN missed INTEGER NOT NULL DEFAULT 0;
CREATE TABLE pause (host TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE moved (old TEXT NOT NULL, new TEXT NOT NULL);
CREATE TABLE placing (intents TEXT NOT NULL);
CREATE TABLE folder (path TEXT PRIMARY KEY) WITHOUT ROWID;
ALTER TABLE mirror ADD COLUMN list TEXT NOT NULL DEFAULT '';
ALTER TABLE document ADD COLUMN sets TEXT NOT NULL DEFAULT '';
ALTER TABLE document ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE document ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
DELETE FROM document;
CREATE TABLE page (uri TEXT PRIMARY KEY, next TEXT NOT NULL) WITHOUT ROWID;
UPDATE sets SET complete = 0;
ALTER TABLE sets ADD COLUMN base INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sets ADD COLUMN lag INTEGER NOT NULL DEFAULT -1;
ALTER TABLE resource ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE resource ADD COLUMN vague INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pending ADD COLUMN doubt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pending ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE package ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
CREATE TABLE reading (
	id INTEGER PRIMARY KEY,
	sets TEXT NOT NULL,
	uri TEXT NOT NULL,
	date INTEGER NOT NULL,
	etag TEXT NOT NULL,
	modified TEXT NOT NULL,
	whole INTEGER NOT NULL,
	closed INTEGER NOT NULL,
	newest INTEGER NOT NULL,
	prints BLOB NOT NULL,
	UNIQUE (sets, uri)
);
UPDATE sets SET base = cursor;
UPDATE resource SET asked = coalesce((SELECT cursor FROM sets WHERE sets.uri = resource.sets), 0);
`

// upgrade makes the state one of the present version, in the transaction that is open. It reports
// whether the state is new.
func (s *State) upgrade() (isNew bool, err error) {
	found, err := s.int("PRAGMA user_version")
	if err != nil {
		return false, err
	}
	switch {
	case found == 0:
		if err := sqlitex.ExecScript(s.conn, schema); err != nil {
			return false, err
		}
		return true, s.setVersion()
	case found < oldest:
		return false, fmt.Errorf("the state has version %d, and this program reads versions from %d; begin a new copy in an empty folder", found, oldest)
	case found > version:
		return false, fmt.Errorf("the state has version %d, which a newer version of this program has written; this program reads versions up to %d: update it", found, version)
	case found == version:
		return false, nil
	}
	for _, script := range upgrades[found-oldest:] {
		if err := sqlitex.ExecScript(s.conn, script); err != nil {
			return false, fmt.Errorf("upgrading the state from version %d: %w", found, err)
		}
		found++
	}
	return false, s.setVersion()
}

func (s *State) setVersion() error {
	return s.exec(fmt.Sprintf("PRAGMA user_version = %d", version))
}
