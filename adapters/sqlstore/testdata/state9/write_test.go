package sqlstore

// This test made the files beside it: the state of a Source and of its hub, written by
// the version with the migrations 0001 to 0009. It is copied into adapters/sqlstore of
// commit 1463b27 and run by
//
//	STATE=/absolute/path/of/testdata/state9 go test ./adapters/sqlstore -run TestWriteState
//
// with RESOURCESYNC_TEST_POSTGRES set. Then the schema is dumped by
//
//	pg_dump --inserts --no-owner --no-privileges --no-comments -n state9 |
//		grep -v -e '^--' -e '^$' -e '^SET' -e set_config -e '^CREATE SCHEMA' -e '^\\' | sed 's/state9\.//g' > postgres.sql
//
// and the SQLite file is packed by gzip -9n.

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/versions"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

const (
	oldChanges   = "https://example.org/resourcesync/papers/change/"
	oldFramework = "https://example.org/resourcesync/papers/framework/"
	elsewhere    = "https://example.net/resourcesync/change/"
	own          = "https://example.org/websub/"
	remote       = "https://hub.example.net/"
)

var expires = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

func TestWriteState(t *testing.T) {
	folder := os.Getenv("STATE")
	kept, err := versions.Open(filepath.Join(folder, "versions"), 100*365*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"one", "two"} {
		c, err := kept.Create()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, content)
		if err := c.Keep([]resourcesync.Hash{sha(content)}); err != nil {
			t.Fatal(err)
		}
	}
	dsn := os.Getenv(postgres)
	for _, db := range []database{database(filepath.Join(folder, "sqlite.db")), database(dsn + "?search_path=state9")} {
		now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		s, closed, err := db.connect(t.Context(), &Options{Retain: -1, Now: func() time.Time { now = now.Add(time.Second); return now }})
		if err != nil {
			t.Fatal(err)
		}
		writeSet(t, s)
		writePush(t, s)
		closed()
	}
}

func sha(content string) resourcesync.Hash {
	return resourcesync.Hash{Algorithm: "sha-256", Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(content)))}
}

func writeSet(t *testing.T, s *Store) {
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error)
	go func() { ran <- s.Run(ctx) }()
	set, err := s.Set(ctx, "papers", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, content := range []string{"one", "two"} {
		err := set.Put(ctx, resourcesync.Resource{Key: "a", URI: "https://example.org/a", LastModified: time.Date(2026, 11, 20, 12, i, 0, 0, time.UTC),
			Length: resourcesync.Bytes(int64(len(content))), Hashes: []resourcesync.Hash{sha(content)}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
	if err := set.Put(ctx, resourcesync.Resource{Key: "b", URI: "https://example.org/b"}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if err := set.Delete(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	cancel()
	<-ran
}

type oldWriter struct {
	*testing.T
	topic.Outbox
	hub.Store
}

func (w oldWriter) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func writePush(t *testing.T, s *Store) {
	o, err := s.Outbox(t.Context(), "https://example.org/resourcesync/")
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.HubStore(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	w := oldWriter{t, o, h}
	for _, uri := range []string{oldChanges, oldFramework} {
		w.add(uri, "change 0 of "+uri) // before anybody subscribes
		for _, u := range []string{own, remote} {
			_, err := o.Queue(t.Context(), uri, u)
			w.must(err)
		}
	}
	// The numbers of the hub differ from those of the outbox.
	w.publish(oldChanges, "older")
	w.publish(oldFramework, "older")
	w.publish(oldChanges, "change 0 of "+oldChanges)
	w.publish(oldFramework, "change 0 of "+oldFramework)
	for _, callback := range []string{"all", "half", "none", "ended"} {
		w.subscribe(oldChanges, callback, expires)
	}
	w.subscribe(oldChanges, "expired", time.Now())
	w.subscribe(oldFramework, "all", expires)
	for i := range 2 {
		w.add(oldFramework, fmt.Sprintf("framework %d", i+1))
		w.publish(oldFramework, fmt.Sprintf("framework %d", i+1))
	}
	// Of five changes the own hub has four; of these the remote hub has three.
	for i := range 5 {
		w.add(oldChanges, fmt.Sprintf("change %d", i+1))
	}
	for i := range 4 {
		w.publish(oldChanges, fmt.Sprintf("change %d", i+1))
	}
	w.publish(elsewhere, "elsewhere 1")
	w.subscribe(elsewhere, "half", expires)
	w.publish(elsewhere, "elsewhere 2")
	w.subscribe(elsewhere, "all", expires)

	save := func(uri, hub string, taken int64, failures int) {
		q, err := o.Queue(t.Context(), uri, hub)
		w.must(err)
		q.Taken = taken
		if failures > 0 {
			q.Failures, q.FailingSince, q.LastError, q.Retry = failures, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), "the hub answered 500", time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC)
			q.Refused, q.LastRefused, q.RefusedError = 1, 2, "the hub answered 400"
		}
		w.must(o.Save(t.Context(), q))
	}
	save(oldChanges, own, 5, 0) // change 4
	save(oldChanges, remote, 4, 3)
	save(oldFramework, own, 3, 0)
	save(oldFramework, remote, 3, 0)

	claimed, err := h.Claim(t.Context(), "owner", 10)
	w.must(err)
	var progress []hub.Progress
	for _, sub := range claimed {
		p := sub.Progress
		p.Release = true
		switch sub.Topic + sub.Callback {
		case oldChanges + "https://all.example.com/":
			p.Taken, p.Delivered = 6, 4
		case oldChanges + "https://half.example.com/":
			p.Taken, p.Delivered = 4, 2
		case oldChanges + "https://none.example.com/":
			p.Failures, p.FailingSince, p.LastError, p.Retry = 2, time.Now(), "answered 500", time.Now().Add(time.Hour)
		case oldFramework + "https://all.example.com/":
			p.Taken, p.Delivered = 4, 2
		case elsewhere + "https://half.example.com/":
			p.Release = false // claimed
		}
		progress = append(progress, p)
	}
	_, err = h.Save(t.Context(), "owner", progress)
	w.must(err)
	end := w.asks(oldChanges, "ended")
	end.End = true
	w.must(h.Request(t.Context(), end, hub.Limits{}))
	w.must(h.Request(t.Context(), w.asks(oldFramework, "new"), hub.Limits{}))
	_, err = h.ClaimRequests(t.Context(), "owner", 1)
	w.must(err)

	// What every hub has taken is cleared away, but for the newest.
	w.must(o.Clear(t.Context(), map[string][]string{oldChanges: {own, remote}, oldFramework: {own, remote}}, time.Time{}, time.Time{}))
	// Messages stay for an hour; here those before the subscriptions are older.
	w.must(s.db.Write(t.Context(), func(c rowdb.Conn) error {
		_, err := c.Exec(t.Context(), "DELETE FROM rs_message WHERE number <= 2 AND topic_id IN (SELECT id FROM rs_hub_topic WHERE uri <> $1)", []byte(elsewhere))
		return err
	}))
}

func (w oldWriter) add(uri, text string) {
	w.Helper()
	before, err := w.State(w.Context(), uri)
	w.must(err)
	n := topic.Notification{Topic: uri, CapabilityList: "https://example.org/resourcesync/papers/capabilitylist.xml", Body: []byte(text)}
	next := topic.State{Number: before.Number + 1, Documents: "documents"}
	if uri == oldChanges {
		n.From = time.Date(2026, 11, 20, 11, 0, int(before.Number), 0, time.UTC)
		n.Until = n.From.Add(time.Second)
		next = topic.State{Number: before.Number + 1, Until: n.Until}
	}
	w.must(w.Add(w.Context(), n, before, next))
}

func (w oldWriter) publish(uri, text string) {
	w.Helper()
	d := sha256.New()
	d.Write([]byte(uri + "\x00" + text))
	links := linkheader.AppendLink(nil, linkheader.Link{Target: uri, Rel: "self"})
	links = linkheader.AppendLink(append(links, ", "...), linkheader.Link{Target: "https://example.org/resourcesync/papers/capabilitylist.xml", Rel: "resourcesync"})
	_, err := w.Publish(w.Context(), hub.Message{Topic: uri, ID: fmt.Sprintf("%x", d.Sum(nil)[:16]), ContentType: "application/xml",
		Links: string(links), Body: []byte(text), Published: time.Now()})
	w.must(err)
}

func (w oldWriter) asks(uri, name string) hub.Request {
	return hub.Request{Topic: uri, Callback: "https://" + name + ".example.com/", Host: name + ".example.com", Client: "192.0.2.1",
		Secret: []byte("secret of " + name), Lease: 24 * time.Hour, Made: expires}
}

func (w oldWriter) subscribe(uri, name string, expires time.Time) {
	w.Helper()
	w.must(w.Request(w.Context(), w.asks(uri, name), hub.Limits{}))
	claimed, err := w.ClaimRequests(w.Context(), "owner", 1)
	w.must(err)
	w.must(w.Apply(w.Context(), "owner", claimed[0], expires))
}
