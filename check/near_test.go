package check_test

import (
	"slices"
)

// expected returns the IDs that are not empty.
func expected(ids ...string) []string {
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	slices.Sort(ids)
	return ids
}
