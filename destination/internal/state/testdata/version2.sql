PRAGMA user_version = 2;
CREATE TABLE also (
	uri TEXT NOT NULL,
	sets TEXT NOT NULL,
	list TEXT NOT NULL,
	seen INTEGER NOT NULL,
	datetime INTEGER NOT NULL,
	PRIMARY KEY (uri, sets)
) WITHOUT ROWID;
CREATE TABLE document (
	uri TEXT PRIMARY KEY,
	etag TEXT NOT NULL,
	modified TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO "document" VALUES('http://source.example/resourcesync/changelist.xml','"yajNPpVAyWPXE9zlvgKElw-gzip"','Mon, 23 Nov 2026 14:38:14 GMT');
INSERT INTO "document" VALUES('http://source.example/resourcesync/resourcelist.xml','"uOi2xCeP2l_1nUUIVDbihg-gzip"','');
CREATE TABLE mirror (source TEXT NOT NULL);
INSERT INTO "mirror" VALUES('http://source.example/');
CREATE TABLE package (
	id INTEGER PRIMARY KEY,
	uri TEXT NOT NULL UNIQUE,
	length INTEGER NOT NULL,
	entries INTEGER NOT NULL,
	baseline INTEGER NOT NULL
);
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
	member TEXT NOT NULL DEFAULT ''
);
INSERT INTO "pending" VALUES(7,'http://source.example/sub/b.txt','http://source.example/resourcesync/capabilitylist.xml','',0,'updated',1795444694117611000,1795444694000000000,14,'sha-256:77067831f5bf269cf79884f88f12d5527b83a7f1c4eebeafd094d4347f5b36ab','text/plain','','',1,'it is larger than the limit for a resource of 3 bytes',0,'');
INSERT INTO "pending" VALUES(8,'http://source.example/d.txt','http://source.example/resourcesync/capabilitylist.xml','',0,'created',1795444694117612000,1795444694000000000,4,'sha-256:7aa7a5359173d05b63cfd682e3c38487f3cb4f7f1d60659fe59fab1505977d4c','text/plain','','',1,'it is larger than the limit for a resource of 3 bytes',0,'');
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
	modified TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO "resource" VALUES('http://source.example/a.txt','a.txt','a.txt','http://source.example/resourcesync/capabilitylist.xml','http://source.example/resourcesync/resourcelist.xml',1,0,1795444691000000000,6,6,'sha-256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03','"b068ef97313df021a4fd0a1a"','Mon, 23 Nov 2026 14:38:11 GMT');
INSERT INTO "resource" VALUES('http://source.example/sub/b.txt','sub/b.txt','sub/b.txt','http://source.example/resourcesync/capabilitylist.xml','http://source.example/resourcesync/resourcelist.xml',1,0,1795444691000000000,6,6,'sha-256:e258d248fda94c63753607f7c4494ee0fcbe92f1a76bfdac795c9d84101eb317','"03785844ca964913953d7cd4"','Mon, 23 Nov 2026 14:38:11 GMT');
CREATE TABLE sets (
	uri TEXT PRIMARY KEY,
	cursor INTEGER NOT NULL DEFAULT 0,
	baseline INTEGER NOT NULL DEFAULT 0,
	complete INTEGER NOT NULL DEFAULT 0,
	guard TEXT NOT NULL DEFAULT '{}'
) WITHOUT ROWID;
INSERT INTO "sets" VALUES('http://source.example/resourcesync/capabilitylist.xml',1795444694118616000,1,1,'{"Net":0,"Earlier":0,"Period":0,"Held":0,"Since":0,"Quiet":0,"Confirmed":0,"Unreadable":0}');
CREATE TABLE subscription (
	topic TEXT PRIMARY KEY,
	callback TEXT NOT NULL,
	secret TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX resource_list ON resource (list);
CREATE INDEX also_list ON also (list);
CREATE INDEX pending_package ON pending (package, seq) WHERE package > 0;
INSERT INTO "sqlite_sequence" VALUES('pending',6);
