package providertest

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// keep returns a copy of v that shares no memory with it, not even strings. A provider that
// reuses the memory of strings then breaks only the rule about strings.
func keep[T any](v T) T {
	replaceStrings(reflect.ValueOf(&v).Elem(), strings.Clone)
	return v
}

// replaceStrings replaces the strings in v by the results of f, and slices by copies.
func replaceStrings(v reflect.Value, f func(string) string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(f(v.String()))
	case reflect.Slice:
		if v.Len() > 0 {
			v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
		}
		for i := range v.Len() {
			replaceStrings(v.Index(i), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				replaceStrings(field, f)
			}
		}
	}
}

// sample returns about most values, evenly spread.
func sample[T any](all []T, most int) (some []T) {
	for i := 0; i < len(all); i += 1 + len(all)/most {
		some = append(some, all[i])
	}
	return some
}

// filter returns the values that are wanted.
func filter[T any](all []T, wanted func(T) bool) (some []T) {
	for _, v := range all {
		if wanted(v) {
			some = append(some, v)
		}
	}
	return some
}

// equal ends the check unless got and want are the same. The other arguments say what got is.
func equal[T any](got, want []T, format string, args ...any) {
	ensure(difference(got, want, same), format, args...)
}

// difference returns the first difference between got and want.
func difference[T any](got, want []T, same func(got, want T) bool) error {
	title := func(v T) string { return fmt.Sprint(show(v)) }
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Errorf("%s is missing at the end", title(want[i]))
		case i >= len(want):
			return fmt.Errorf("%s is an extra value at the end", title(got[i]))
		case same(got[i], want[i]):
		case title(got[i]) == title(want[i]):
			return fmt.Errorf("%s: %s", title(got[i]), describeDifference(got[i], want[i]))
		default:
			return fmt.Errorf("%s, expected %s", title(got[i]), title(want[i]))
		}
	}
	return nil
}

// same reports whether a and b are equal, as the contract compares values of their type.
func same[T any](a, b T) bool {
	switch a := any(a).(type) {
	case resourcesync.Resource:
		return a.Equal(any(b).(resourcesync.Resource))
	case resourcesync.Change:
		b := any(b).(resourcesync.Change)
		return a.Type == b.Type && a.Datetime.Equal(b.Datetime) && a.Resource.Equal(b.Resource)
	case resourcesync.Interval:
		b := any(b).(resourcesync.Interval)
		return a.From.Equal(b.From) && a.Until.Equal(b.Until)
	}
	return len(differing(a, b)) == 0
}

// describeDifference describes how got differs from want: by the fields that differ, if it is a
// struct. It never prints two equal values.
func describeDifference(got, want any) string {
	if parts := differing(got, want); len(parts) > 0 {
		return strings.Join(parts, "; ")
	}
	return "no field differs, but Options.Equal reports false"
}

// differing describes the fields in which got and want differ.
func differing(got, want any) (parts []string) {
	var compare func(name string, got, want reflect.Value)
	compare = func(name string, got, want reflect.Value) {
		a, b := got.Interface(), want.Interface()
		var is, expected string
		switch {
		case reflect.DeepEqual(a, b):
			return
		case got.Type() == reflect.TypeFor[time.Time]():
			if a.(time.Time).Equal(b.(time.Time)) {
				return
			}
			is, expected = timeText(a.(time.Time)), timeText(b.(time.Time))
		case got.Kind() == reflect.Struct && got.Type().Field(0).IsExported():
			for i := range got.NumField() {
				compare(strings.TrimPrefix(name+"."+got.Type().Field(i).Name, "."), got.Field(i), want.Field(i))
			}
			return
		case got.Kind() == reflect.Slice && got.Len() == want.Len():
			for i := range got.Len() {
				compare(fmt.Sprintf("%s[%d]", name, i), got.Index(i), want.Index(i))
			}
			return
		case got.Kind() == reflect.String:
			is, expected = strconv.Quote(got.String()), strconv.Quote(want.String())
		default:
			if is, expected = fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); is == expected {
				is, expected = fmt.Sprintf("%#v", a), fmt.Sprintf("%#v", b)
			}
		}
		parts = append(parts, strings.TrimPrefix(fmt.Sprintf("%s is %s, expected %s", name, is, expected), " "))
	}
	compare("", reflect.ValueOf(got), reflect.ValueOf(want))
	return parts
}

// show returns v as failures print it.
func show(v any) any {
	switch v := v.(type) {
	case resourcesync.Resource:
		return quote(v.Key)
	case resourcesync.Change:
		return fmt.Sprintf("%s %s at %s", v.Type, quote(v.Resource.Key), timeText(v.Datetime))
	case resourcesync.Cut:
		return "the cut at " + quote(v.Key)
	case resourcesync.Snapshot:
		return v.URI
	case resourcesync.Range:
		return fmt.Sprintf("from %s to %s", quote(v.From), quote(v.To))
	case resourcesync.Interval:
		return fmt.Sprintf("from %s until %s", timeText(v.From), timeText(v.Until))
	case resourcesync.Stat:
		return fmt.Sprintf("{Count %d, LastModified %s, Version %q}", v.Count, timeText(v.LastModified), v.Version)
	case time.Time:
		return timeText(v)
	}
	return v
}

// quote quotes a key; a long key is shortened.
func quote(key string) string {
	const first, last = 40, 20
	if len(key) > first+last {
		return fmt.Sprintf("%q…%q (%d bytes)", key[:first], key[len(key)-last:], len(key))
	}
	return fmt.Sprintf("%q", key)
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return "ever"
	}
	return t.UTC().Format(time.RFC3339Nano)
}
