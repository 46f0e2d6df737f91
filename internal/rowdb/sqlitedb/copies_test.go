package sqlitedb

import (
	"runtime/debug"
	"slices"
	"testing"
)

func TestOtherCopies(t *testing.T) {
	module := func(path string) *debug.Module { return &debug.Module{Path: path} }
	own := []*debug.Module{module("zombiezen.com/go/sqlite"), module("modernc.org/sqlite"), module("github.com/ncruces/go-strftime")}
	for _, test := range []struct {
		name string
		deps []*debug.Module
		want []string
	}{
		{"none", nil, nil},
		{"own", own, nil},
		{"mattn", append(slices.Clip(own), module("github.com/mattn/go-sqlite3")), []string{"github.com/mattn/go-sqlite3"}},
		{"two", []*debug.Module{module("crawshaw.io/sqlite"), module("github.com/ncruces/go-sqlite3")},
			[]string{"crawshaw.io/sqlite", "github.com/ncruces/go-sqlite3"}},
		{"replaced by a fork", []*debug.Module{{Path: "github.com/mattn/go-sqlite3", Replace: module("example.org/fork")}},
			[]string{"github.com/mattn/go-sqlite3"}},
		{"replacement", []*debug.Module{{Path: "example.org/driver", Replace: module("github.com/mattn/go-sqlite3")}},
			[]string{"github.com/mattn/go-sqlite3"}},
	} {
		if got := otherCopies(test.deps); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, not %v", test.name, got, test.want)
		}
	}
}
