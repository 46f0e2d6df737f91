package providertest

import (
	"reflect"
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

// keep returns a copy of r that shares nothing with it, not even its strings, so
// that a provider that reuses them breaks the rule about that and no other.
func keep(r resourcesync.Resource) resourcesync.Resource {
	r = r.Clone()
	eachString(reflect.ValueOf(&r).Elem(), cloneString)
	return r
}

func keepChange(c resourcesync.Change) resourcesync.Change {
	c.Type = resourcesync.ChangeType(strings.Clone(string(c.Type)))
	c.Resource = keep(c.Resource)
	return c
}

func keepAll(resources []resourcesync.Resource) []resourcesync.Resource {
	all := make([]resourcesync.Resource, len(resources))
	for i, r := range resources {
		all[i] = keep(r)
	}
	return all
}

func cloneString(s reflect.Value) { s.SetString(strings.Clone(s.String())) }

// eachString calls f for the strings in v.
func eachString(v reflect.Value, f func(s reflect.Value)) {
	switch v.Kind() {
	case reflect.String:
		f(v)
	case reflect.Struct:
		for i := range v.NumField() {
			eachString(v.Field(i), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachString(v.Index(i), f)
		}
	}
}
