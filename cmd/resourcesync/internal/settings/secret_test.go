package settings

import "testing"

func TestWithoutPassword(t *testing.T) {
	for address, want := range map[string]string{
		"/var/lib/a@b.db":                                     "/var/lib/a@b.db",
		"postgres://me:sesame@host/db":                        "postgres://me:xxxxx@host/db",
		"postgres://host/db?password=sesame&user=a%40b":       "postgres://host/db?password=xxxxx&user=a%40b",
		"postgres://me@host/db?sslpassword=sesame":            "postgres://me@host/db?sslpassword=xxxxx",
		"postgres://me:sesa#me@host/db":                       masked,
		"postgres://me:1/sesame@host/db":                      masked,
		"mysql://me:1?sesame@host/db":                         masked,
		"postgres://host/db?user=me@host&sslmode=verify-full": "postgres://host/db?user=me@host&sslmode=verify-full",
	} {
		if got := WithoutPassword(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
