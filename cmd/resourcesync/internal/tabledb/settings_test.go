package tabledb

import "testing"

func TestSplitTable(t *testing.T) {
	for given, want := range map[string][2]string{
		`a`: {"", "a"}, `a.b`: {"a", "b"}, `"a.b"`: {"", "a.b"}, `"a""b"."c d"`: {`a"b`, "c d"}, `a."b"`: {"a", "b"}, `a b`: {"", "a b"},
	} {
		if schema, table, err := splitTable(given); err != nil || [2]string{schema, table} != want {
			t.Errorf("%s: %q, %q, %v", given, schema, table, err)
		}
	}
	for _, given := range []string{"", ".", "a.", ".a", `""`, `"a"b`, `"a`, "a.b.c"} {
		if _, _, err := splitTable(given); err == nil {
			t.Errorf("%s is a table", given)
		}
	}
}
