package sqlstore

import (
	"reflect"
	"testing"
)

// TestNotes: notes have a name and a key, can be replaced and removed, and hold any bytes.
func TestNotes(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		s := db.open(t, nil)
		save := func(name string, put map[string][]byte, remove ...string) {
			t.Helper()
			if err := s.SaveNotes(t.Context(), name, put, remove); err != nil {
				t.Fatal(err)
			}
		}
		save("a", map[string][]byte{"one": []byte("1"), "two\x00\xff": []byte("\x00\xff")})
		save("b", map[string][]byte{"one": []byte("b")})
		save("a", map[string][]byte{"one": []byte("11"), "three": {}}, "none")
		save("a", map[string][]byte{"four": []byte("4")}, "three")
		for name, want := range map[string]map[string][]byte{
			"a": {"one": []byte("11"), "two\x00\xff": []byte("\x00\xff"), "four": []byte("4")},
			"b": {"one": []byte("b")},
			"c": {},
		} {
			if got, err := s.Notes(t.Context(), name); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s has %q, %v", name, got, err)
			}
		}
	})
}
