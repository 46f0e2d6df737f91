package main

import "github.com/pocketbase/dbx"

//docs:begin connect

// connect opens a database of PocketBase as core.DefaultDBConnect does, with _txlock=immediate.
// The journal writes to the same file. So a transaction of PocketBase that has read and then
// begins to write, such as a batch, would fail if the journal has written in between.
func connect(path string) (*dbx.DB, error) {
	return dbx.Open("sqlite", path+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"+
		"&_pragma=journal_size_limit(200000000)&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(ON)"+
		"&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)")
}

//docs:end
