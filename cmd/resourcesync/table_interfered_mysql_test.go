package main

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// MariaDB and MySQL have no journal. A comparison finds changes that the triggers have
// missed, so nothing starts over. The operator recreates missing triggers.

// applyTriggers runs the triggers command.
func (i *interfered) applyTriggers() {
	i.t.Helper()
	if status, _, stderr := runTriggersCommand(i.t, i.flags("--apply")...); status != 0 {
		i.t.Fatal(stderr)
	}
}

// interruptMySQL is interrupt.
func (i *interfered) interruptMySQL() (name string) {
	names, _ := i.triggerNames()
	i.rnd.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
	var all []string
	switch i.rnd.IntN(4) {
	case 0:
		name = "the table made again"
		all = append(all, "DROP TABLE posts", createPosts)
	case 1:
		name = "our triggers dropped and made again"
		if status, _, stderr := runTriggersCommand(i.t, "--db", i.flag, "--table", "posts", "--drop"); status != 0 {
			i.t.Fatal(stderr)
		}
	case 2:
		name = "the table emptied"
		all = append(all, "TRUNCATE TABLE posts")
	default:
		name = "some triggers dropped"
		for _, trigger := range names[:1+i.rnd.IntN(len(names))] {
			all = append(all, "DROP TRIGGER "+trigger)
		}
	}
	i.others(append(all, i.writes()...)...)
	i.applyTriggers()
	return name
}

// saveMySQL copies the table, and restoreMySQL puts the copy in its place, as a dump without
// triggers does.
func (i *interfered) saveMySQL() {
	i.backup = "posts_backup"
	i.exec(i.t, "DROP TABLE IF EXISTS posts_backup", "CREATE TABLE posts_backup LIKE posts", "INSERT INTO posts_backup SELECT * FROM posts")
}

func (i *interfered) restoreMySQL() {
	i.exec(i.t, "DROP TABLE posts", "CREATE TABLE posts LIKE posts_backup", "INSERT INTO posts SELECT * FROM posts_backup")
	i.applyTriggers()
}

// ping requests a comparison.
func (i *interfered) ping() {
	i.t.Helper()
	req, err := http.NewRequestWithContext(i.t.Context(), "POST", i.s.site+"resourcesync/ping", strings.NewReader(""))
	must(i.t, err)
	req.Header.Set("Authorization", "Bearer pong")
	res, err := http.DefaultClient.Do(req)
	must(i.t, err)
	res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		i.t.Fatal(res.Status)
	}
}

// awaitList waits until the Resource List equals the table.
func (i *interfered) awaitList() {
	i.t.Helper()
	want := i.rows()
	i.s.until("the Resource List is what the table is", func() bool {
		got := map[string]string{}
		for _, e := range i.s.document(i.s.site+"resourcesync/resourcelist.xml", "resourcelist").Entries {
			got[strings.TrimPrefix(e.Loc, i.website.URL+"/")] = e.Metadata.Length
		}
		return maps.EqualFunc(got, want, func(length string, size int) bool { return length == fmt.Sprint(size) })
	})
}
