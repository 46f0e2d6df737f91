package sqlstore

import (
	"fmt"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// TestPlaces: the places of a folder are contiguous, and contain no places of other
// folders.
func TestPlaces(t *testing.T) {
	for _, p := range []places{{}, {stemBits: 8}, {stemBits: 16}} {
		testPlaces(t, p)
	}
}

func testPlaces(t *testing.T, p places) {
	folders := map[int64]string{}
	for _, folder := range []string{"/", "/a/", "/b/", "/a/b/", "/1/2/", "/1/3/"} {
		for i := range 100 {
			place := p.of(fmt.Sprintf("https://example.org%s%d.txt?a/b", folder, i))
			if before, ok := folders[place>>48]; ok && before != folder {
				t.Fatalf("places of %s are among those of %s", folder, before)
			}
			folders[place>>48] = folder
		}
	}
	if len(folders) != 6 {
		t.Errorf("the places are at %d ends instead of 6", len(folders))
	}
}

// TestPlacesOfSimilarNames: the places of a thousand names that are listed one after the other are
// in few runs of the index.
func TestPlacesOfSimilarNames(t *testing.T) {
	for _, test := range []struct {
		format string
		shift  int // of the bits after those that the names share
		most   int
	}{
		{"/records/%07d", 24, 2},
		{"/article-%d.mp4", 24, 2},
		{"/item?id=%d", 24, 2},
		{"/item?id=%d&verb=get", 24, 2},
		{"/%x-9f", 40, 1}, // names in random order: those with the same beginning
		{"/title-%c", 40, 1},
	} {
		runs, all := map[int64]bool{}, map[int64]bool{}
		for i := range 1000 {
			place := places{stemBits: 16}.of("https://example.org" + fmt.Sprintf(test.format, 0x2a200+i))
			runs[place>>test.shift], all[place] = true, true
		}
		if len(runs) > test.most || len(all) < 1000 {
			t.Errorf("%s: %d places in %d runs", test.format, len(all), len(runs))
		}
	}
}

// TestPlacesOfNewState: a new state has the places of similar names.
func TestPlacesOfNewState(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		for _, opened := range []string{"first", "again"} {
			if got := db.open(t, nil).places; got.stemBits != 16 {
				t.Errorf("opened %s, a new state has the places %+v", opened, got)
			}
		}
	})
}

// TestPlacesOfOldState: a state in which a set was before keeps the places that older programs know.
func TestPlacesOfOldState(t *testing.T) {
	for script, want := range map[int]places{22: {}, 23: {stemBits: 8}} {
		t.Run(fmt.Sprint("script ", script), func(t *testing.T) {
			eachEngine(t, func(t *testing.T, db database) { testPlacesOfOldState(t, db, script, want) })
		})
	}
}

func testPlacesOfOldState(t *testing.T, db database, script int, want places) {
	const uri = "https://example.org/records/1000000"
	db.made(t, script, func(c rowdb.Conn) error {
		_, err := c.Exec(t.Context(), "INSERT INTO rs_set (name, journal, ready, begin, since, last, count, archive) VALUES ('other', 1, 1, 1, 1, 1, 0, 1)")
		return err
	})
	set := db.open(t, nil).mustSet(t, "", nil)
	if err := set.Put(t.Context(), resourcesync.Resource{Key: "a", URI: uri}); err != nil || !covers(t, set, uri) {
		t.Errorf("the resource is not covered, %v", err)
	}
	place, err := rowdb.One(t.Context(), set.store.db, rowdb.Int, "SELECT place FROM rs_resource")
	if err != nil || place != want.of(uri) {
		t.Errorf("an older program would not find the place %d, %v", place, err)
	}
}
