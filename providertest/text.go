package providertest

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// quote quotes a key; a long key is shortened.
func quote(key string) string {
	const first, last = 40, 20
	if len(key) > first+last {
		return fmt.Sprintf("%q…%q (%d bytes)", key[:first], key[len(key)-last:], len(key))
	}
	return fmt.Sprintf("%q", key)
}

// unlike says how got is not want: by the fields that differ, if it is a struct. It never
// prints two equal values.
func unlike(got, want any) string {
	var parts []string
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
	if len(parts) == 0 {
		return "no field differs, but Options.Equal reports false"
	}
	return strings.Join(parts, "; ")
}

func rangeText(r resourcesync.Range) string {
	return fmt.Sprintf("from %s to %s", quote(r.From), quote(r.To))
}

func intervalText(iv resourcesync.Interval) string {
	return fmt.Sprintf("from %s until %s", timeText(iv.From), timeText(iv.Until))
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return "ever"
	}
	return t.UTC().Format(time.RFC3339Nano)
}
