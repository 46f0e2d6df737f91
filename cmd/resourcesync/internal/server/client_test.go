package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestClientAddress(t *testing.T) {
	tests := []struct {
		header, given string
		values        []string
		want          string
	}{
		{"", "X-Forwarded-For", []string{"198.51.100.7"}, "192.0.2.1:1234"},
		{"X-Forwarded-For", "X-Forwarded-For", []string{"198.51.100.7"}, "198.51.100.7:0"},
		{"X-Forwarded-For", "X-Forwarded-For", []string{"203.0.113.9, 198.51.100.7"}, "198.51.100.7:0"}, // the client wrote the first
		{"X-Forwarded-For", "X-Forwarded-For", []string{"203.0.113.9", "198.51.100.7"}, "198.51.100.7:0"},
		{"X-Real-Ip", "X-Real-Ip", []string{"[2001:db8::7]:4711"}, "[2001:db8::7]:0"},
		{"X-Real-Ip", "X-Real-Ip", []string{"2001:db8::7"}, "[2001:db8::7]:0"},
		{"X-Real-Ip", "X-Real-Ip", []string{"[2001:db8::7]"}, "[2001:db8::7]:0"},
		{"X-Forwarded-For", "X-Forwarded-For", []string{"unknown"}, "192.0.2.1:1234"},
		{"X-Forwarded-For", "X-Forwarded-For", []string{"198.51.100.7, "}, "192.0.2.1:1234"},
		{"X-Forwarded-For", "X-Real-Ip", []string{"198.51.100.7"}, "192.0.2.1:1234"},
	}
	for _, tt := range tests {
		var got string
		h := ClientAddress(tt.header, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = "192.0.2.1:1234"
		r.Header[tt.given] = tt.values
		h.ServeHTTP(httptest.NewRecorder(), r)
		if got != tt.want {
			t.Errorf("%q, %s: %q: from %s, want %s", tt.header, tt.given, tt.values, got, tt.want)
		}
	}
}
