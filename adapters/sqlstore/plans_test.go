package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/scan"
)

// TestD17_Plans reads the plan of every statement of the store, in both engines,
// without statistics, with statistics of small tables, and with statistics of large
// ones. A plan must not read all of a table that grows, nor all rows of one set, topic
// or hub in it, except where scans allows it.
func TestD17_Plans(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	r := &record{statements: map[string]statement{}, sites: map[string]bool{}, excused: map[string]bool{}}
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			db := e.make(t)
			r.statements, r.scripts = map[string]statement{}, nil
			explain := explainSQLite
			if db.isPostgres() {
				explain = explainPostgres
				neverAnalyze(t, db)
			}
			t.Run("workload", func(t *testing.T) { workload(t, db, r) })
			explain(t, db, r)
		})
	}
	t.Run("all statements", func(t *testing.T) {
		needs.Variable(t, postgres) // some statements are for PostgreSQL only
		checkSites(t, r.sites)
		for sql := range scans {
			if !r.excused[sql] {
				t.Errorf("no plan needs this permission: %s", sql)
			}
		}
	})
}

// workload runs every statement of the store.
func workload(t *testing.T, db database, r *record) {
	store := db.open(t, nil)
	store.db = recorder{store.db, r}
	run(t, store)
	logtest.Test(t, func(t *testing.T) logtest.Subject { return subject(t, store, store) })
	clock := newClock()
	second := db.open(t, &Options{Now: clock.tell, Retain: time.Hour, Window: time.Hour})
	second.db = recorder{second.db, r}
	t.Run("sets", func(t *testing.T) { useSets(t, second, clock) })
	t.Run("record", func(t *testing.T) { useRecord(t, db, second.mustSet(t, "recorded", nil), r) })
	third := db.open(t, &Options{Now: clock.tell, Retain: time.Hour, Archive: 3 * time.Hour, Window: time.Hour})
	third.db = recorder{third.db, r}
	t.Run("archive", func(t *testing.T) { useArchive(t, third, clock) })
	t.Run("standby", func(t *testing.T) { useStandby(t, third) })
}

// useStandby reads a set from the database as its own standby, and while that fails.
func useStandby(t *testing.T, store *Store) {
	st := newStandby(store.db)
	store.standby, store.db = st, noting{store.db, st}
	if err := store.db.Update(t.Context(), func(rowdb.Conn) error { return nil }); err != nil {
		t.Fatal(err)
	}
	set := store.mustSet(t, "archived", nil)
	read := func() {
		for _, err := range set.Resources(t.Context(), resourcesync.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	read()
	st.pause = time.Now().Add(time.Hour)
	read()
	s, _, err := store.Standby(t.Context())
	if err != nil || s.Reads != 1 || s.Failed != 1 || s.Lag != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if lag, err := store.lag(t.Context(), nil); err != nil || lag <= 0 {
		t.Fatalf("a standby without changes lags %v, %v", lag, err)
	}
}

// useRecord records a change in a transaction of the host.
func useRecord(t *testing.T, db database, set *Set, r *record) {
	tx, commit, _ := ways(db)[0].begin(t, db)
	change := resourcesync.Change{Type: resourcesync.Created, Resource: small("a", 1)}
	if err := errors.Join(set.Record(t.Context(), recordedTx{tx, r}, change), commit()); err != nil {
		t.Fatal(err)
	}
}

func useArchive(t *testing.T, store *Store, clock *clock) {
	ctx := t.Context()
	set := store.mustSet(t, "archived", nil)
	archive := set.Archive()
	for hour := range 8 {
		clock.now = clock.now.Add(time.Hour)
		if _, err := set.change(ctx, puts(100+hour)); err != nil {
			t.Fatal(err)
		}
		if err := store.clearAll(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.StatArchive(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.ArchivedWindows(ctx, 50); err != nil {
			t.Fatal(err)
		}
		for _, err := range archive.ArchivedChanges(ctx, resourcesync.Interval{}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for c, err := range set.Changes(ctx, resourcesync.Interval{}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := set.Erase(ctx, c.Resource.URI); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
}

// useHistory answers for a history in which another process does not answer, and undoes that.
func useHistory(t *testing.T, store *Store) {
	v := &store.survival
	v.checking.Lock()
	defer v.checking.Unlock()
	undo := errors.New("undo")
	err := store.db.Update(t.Context(), func(c rowdb.Conn) error {
		for key, value := range map[string]string{historyNote: "former", processNote + "other": "former "} {
			if err := v.put(t.Context(), c, key, value); err != nil {
				return err
			}
		}
		v.waiting = time.Now().Add(-answerTimeout)
		return cmp.Or(store.answer(t.Context(), c, "new", map[int64]restart{}), undo)
	})
	if err != undo {
		t.Error(err)
	}
}

func useSets(t *testing.T, store *Store, clock *clock) {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	set := store.mustSet(t, "set", &scan.SetOptions{AwaitScan: true})
	_, err := store.Sets(ctx)
	must(err)
	must(store.SaveNotes(ctx, "program", map[string][]byte{"a": {1}}, []string{"b"}))
	_, err = store.Notes(ctx, "program")
	must(err)
	useHistory(t, store)
	for _, n := range []int{3 * maxBlock, 2 * maxBlock} {
		_, err := set.Scan(ctx, articles(n))
		must(err)
	}
	must(store.db.Update(ctx, func(c rowdb.Conn) error { return computePlaces(ctx, c) }))
	_, err = readPlaces(ctx, store.db)
	must(err)
	_, err = set.ScanRanges(ctx, []resourcesync.Range{{From: article(1).Key, To: article(2).Key}}, unreadable(nil, resourcesync.Range{From: article(3).Key}))
	must(err)
	store.maxSeen = 0 // from now on, scans need their temporary table
	must(set.Put(ctx, article(0), small("a", 1)))
	cuts, err := set.Cuts(ctx, nil, 100)
	must(err)
	moved := small("b", 1)
	moved.URI = small("a", 1).URI
	must(set.Put(ctx, moved))
	must(set.Delete(ctx, "a")) // and b is announced again
	must(set.Put(ctx, small("a", 1)))
	_, err = set.Scan(ctx, listing(moved)) // the same, during a scan
	must(err)
	must(store.SaveNotes(ctx, "notes", map[string][]byte{"a": []byte("1")}, []string{"b"}))
	_, err = store.Notes(ctx, "notes")
	must(err)
	guarded, err := store.Set(ctx, "set", nil)
	must(err)
	must(guarded.Withdraw(ctx, "a"))
	must(guarded.Withdraw(ctx, "b", article(1).Key, article(2).Key))
	must(guarded.Put(ctx, article(1), moved))
	_, err = guarded.Scan(ctx, listing(article(1)))
	must(err)
	_, err = guarded.ConfirmDeletions(ctx)
	must(err)
	_, err = guarded.Scan(ctx, listing(article(1), small("b", 1), small("a", 1)))
	must(err)
	for range 2 { // deletions that are held, and then confirmed
		_, err = guarded.Scan(ctx, unreadable(nil, resourcesync.Range{From: "a"}))
		must(err)
		_, err = guarded.Kept(ctx)
		must(err)
		must(set.Put(ctx, small("0", 1), small("1", 1)))
		_, err = guarded.ConfirmDeletions(ctx)
		must(err)
	}
	_, err = set.Cuts(ctx, cuts, 100)
	must(err)
	for hour := range 3 {
		clock.now = clock.now.Add(time.Hour)
		_, err := set.change(ctx, puts(300))
		must(err)
		must(set.Put(ctx, small("c", hour)))
		must(set.Delete(ctx, "c"))
		_, err = set.Windows(ctx, 100)
		must(err)
		stat, err := set.Stat(ctx, resourcesync.Range{})
		must(err)
		must(set.Seal(ctx, stat.LastModified))
		_, err = set.Seals(ctx, time.Time{})
		must(err)
		_, err = set.Cuts(ctx, nil, 100)
		must(err)
		read(t, set)
		if hour == 0 {
			must(set.Put(ctx, small("z0", 1), small("z1", 1)))
			must(set.Delete(ctx, "z1"))
		}
	}
	for range 2 { // creations that are a credit, and a scan that has it
		_, err = guarded.Scan(ctx, unreadable(files(40, 0), resourcesync.Range{}))
		must(err)
	}
	must(store.clearAll(ctx))
	must(store.checkIdle(ctx))

	awaiting := store.mustSet(t, "awaiting", &scan.SetOptions{AwaitScan: true})
	must(awaiting.Put(ctx, small("a", 1)))
	must(awaiting.Delete(ctx, "a"))
	journal, err := store.Journal(ctx, "journal")
	must(err)
	must(store.db.Update(ctx, func(c rowdb.Conn) error { // a new condition takes rows out of the set, and one comes back
		if err := c.ExecEach(ctx, "INSERT INTO rs_leaving (set_id, key, uri) VALUES ($1, $2, $3)", 100,
			func(i int) []any { return []any{journal.id, []byte(article(i).Key), article(i).URI} }); err != nil {
			return err
		}
		_, err := journal.leave(ctx, c, nil, 100, 0)
		return err
	}))
	_, err = journal.Pending(ctx)
	must(err)
	divided, err := journal.Division(ctx, 10, &Division{})
	must(err)
	_, _, err = journal.KeepDivision(ctx, 10, &divided, &Division{Cuts: []resourcesync.Cut{{Key: "a", Count: 1}, {}}, At: time.Now()})
	must(err)
	_, err = journal.Kept(ctx, nil)
	must(err)
	_, err = store.Journals(ctx)
	must(err)
	must(store.db.Update(ctx, func(c rowdb.Conn) error {
		_, err := c.Exec(ctx, "INSERT INTO rs_pending (set_id, change, key, uri) VALUES ($1, 'created', $2, $3)", journal.id, []byte(article(1).Key), article(1).URI)
		return err
	}))
	confirmed, err := journal.ConfirmDeletions(ctx)
	must(err)
	if confirmed != 99 {
		t.Fatalf("%d deletions confirmed", confirmed)
	}
	if store.db.Dialect() == rowdb.SQLite {
		must(numberTwoBatches(ctx, store, journal))
	}
	must(journal.Restart(ctx, "a test"))
	must(set.TakeOver(ctx, "journal"))
	_, err = journal.Stat(ctx, resourcesync.Range{})
	must(err)

	log := store.mustLog(t, "log")
	for range 2 {
		_, err = log.HubCursor(ctx, "https://example.org/", "https://hub.example.net/")
		must(err)
		must(log.Append(ctx, pushlog.Notification{Topic: "https://example.org/"}, pushlog.State{}, pushlog.State{Number: 1}))
		clock.now = clock.now.Add(48 * time.Hour)
		_, err = log.Clear(ctx, map[string][]string{"https://example.org/": {"https://hub.example.net/"}}, clock.now, clock.now)
		must(err)
		clock.now = clock.now.Add(48 * time.Hour)
		_, err = log.Clear(ctx, nil, clock.now, clock.now)
		must(err)
	}

	watching, stop := context.WithCancel(ctx)
	set.Watch(watching, func() {
		if err := store.wakeWatchers(ctx); err != nil {
			t.Error(err)
		}
		stop()
	})
}

// numberTwoBatches numbers a full batch that was read ahead, and one more change.
func numberTwoBatches(ctx context.Context, store *Store, journal *Journal) error {
	return store.db.Update(ctx, func(c rowdb.Conn) error {
		err := c.ExecEach(ctx, "INSERT INTO rs_pending (set_id, change, key, uri) VALUES ($1, 'updated', $2, $3)", batch+1,
			func(i int) []any { return []any{journal.id, []byte(article(i).Key), article(i).URI} })
		for range 2 {
			var read *ahead
			if err == nil {
				read, err = readAheadBy(ctx, c)
			}
			if err == nil {
				err = store.numberAhead(ctx, c, read)
			}
		}
		return err
	})
}

// read calls all reading methods of a set.
func read(t *testing.T, set *Set) {
	ctx := t.Context()
	for _, r := range []resourcesync.Range{{}, {From: "puts/0001"}, {From: "puts/0001", To: "puts/0003"}} {
		if _, err := set.Stat(ctx, r); err != nil {
			t.Error(err)
		}
		if _, err := set.StatParts(ctx, r); err != nil {
			t.Error(err)
		}
		for _, err := range set.Resources(ctx, r) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := set.Folder(ctx, "puts/", r, 10); err != nil {
			t.Error(err)
		}
	}
	for _, err := range set.Changes(ctx, resourcesync.Interval{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := set.Known(ctx, []string{"a", "b"}); err != nil {
		t.Error(err)
	}
	if _, _, err := set.Get(ctx, "b"); err != nil {
		t.Error(err)
	}
	if _, err := set.Since(ctx); err != nil {
		t.Error(err)
	}
	if err := set.SetOrigin(ctx, "here"); err != nil {
		t.Error(err)
	}
	if origin, err := set.Origin(ctx); origin != "here" || err != nil {
		t.Errorf("the origin is %q, %v", origin, err)
	}
	u, err := url.Parse(small("puts/000001", 1).URI)
	if err != nil || !set.Covers(u) {
		t.Errorf("%v is not covered, %v", u, err)
	}
	if err := set.store.Health(ctx); err != nil {
		t.Error(err)
	}
}
