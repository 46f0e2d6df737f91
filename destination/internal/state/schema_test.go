package state

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

const (
	source = "http://source.example/"
	room   = 1 << 30
)

// fromScript returns the path of a state that a script creates.
func fromScript(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

// released returns the path of a state that a released version has written.
func released(t *testing.T, name string) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return fromScript(t, string(script))
}

func open(t *testing.T, path string) *State {
	t.Helper()
	s, err := Open(path, source, false, room, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// tables returns the schema of s, without spaces at which a script and upgrades can differ.
func (s *State) tables(t *testing.T) (all []string) {
	t.Helper()
	err := s.query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL", func(row *sqlite.Stmt) error {
		all = append(all, strings.NewReplacer(" ,", ",", "( ", "(", " )", ")").Replace(strings.Join(strings.Fields(row.ColumnText(0)), " ")))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// TestUpgrade: a state of version 2 has the schema of a new state after it has been opened, and
// keeps its data. All lists are read again.
func TestUpgrade(t *testing.T) {
	s := open(t, released(t, "version2.sql"))
	if got, want := s.tables(t), open(t, filepath.Join(t.TempDir(), "state.db")).tables(t); !slices.Equal(got, want) {
		t.Errorf("tables\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n, bytes, err := s.Totals(); n != 2 || bytes != 12 || err != nil {
		t.Errorf("%d resources, %d bytes, %v", n, bytes, err)
	}
	r, known, err := s.Resource(source + "a.txt")
	if !known || r.Path != "a.txt" || r.Size != 6 || len(r.Hashes) != 1 || err != nil {
		t.Errorf("a.txt: %+v, %v, %v", r, known, err)
	}
	pending, err := s.Pending(0, 1<<40, 10)
	if err != nil || len(pending) != 2 || !pending[0].Known || pending[0].Attempts != 1 || pending[1].Known {
		t.Errorf("pending: %+v, %v", pending, err)
	}
	set, err := s.Set(source + "resourcesync/capabilitylist.xml")
	if err != nil || set.Known || set.Cursor.IsZero() || set.Baseline != 1 {
		t.Errorf("set: %+v, %v", set, err)
	}
	if v, err := s.Document(set.URI, source+"resourcesync/changelist.xml"); err != nil || v.ETag != "" {
		t.Errorf("document: %+v, %v", v, err)
	}
}

// TestOtherVersion: states of other versions are not changed, and the error says what to do.
func TestOtherVersion(t *testing.T) {
	for script, want := range map[string]string{
		"PRAGMA user_version = 1":    "begin a new copy",
		"PRAGMA user_version = 1000": "a newer version of this program has written; this program reads versions up to ",
	} {
		path := fromScript(t, script)
		if s, err := Open(path, source, false, room, nil); err == nil {
			s.Close()
			t.Errorf("%s: no error", script)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
		conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
		if err != nil {
			t.Fatal(err)
		}
		n, err := (&State{conn: conn}).int("SELECT count(*) FROM sqlite_schema")
		if n != 0 || err != nil {
			t.Errorf("%s: %d tables, %v", script, n, err)
		}
		conn.Close()
	}
}
