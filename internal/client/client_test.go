package client

import (
	"net/http"
	"testing"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct{ from, want string }{
		{"192.0.2.1:80", "192.0.2.1"},
		{"192.0.2.1:8080", "192.0.2.1"},
		{"192.0.2.1", "192.0.2.1"},
		{"[::ffff:192.0.2.1]:80", "192.0.2.1"},
		{"[2001:db8:1:2:3:4:5:6]:80", "2001:db8:1:2::/64"},
		{"[2001:db8:1:2:ffff::]:81", "2001:db8:1:2::/64"},
		{"[2001:db8:1:3::]:80", "2001:db8:1:3::/64"},
		{"[fe80::1%eth0]:80", "fe80::/64"},
		{"2001:db8::1", "2001:db8::/64"},
		{"@", "@"},
		{"", ""},
	} {
		if got := Of(&http.Request{RemoteAddr: tt.from}); got != tt.want {
			t.Errorf("%q is %q and should be %q", tt.from, got, tt.want)
		}
	}
}

func TestShares(t *testing.T) {
	s := NewShares(2)
	for _, tt := range []struct {
		client string
		want   bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"a", false}} {
		if got := s.Take(tt.client); got != tt.want {
			t.Errorf("Take(%q) is %v", tt.client, got)
		}
	}
	s.Return("a")
	if !s.Take("a") || s.Take("a") {
		t.Error("what was returned is not to be had once")
	}
	for _, client := range []string{"a", "a", "b"} {
		s.Return(client)
	}
	if len(s.held) != 0 {
		t.Errorf("clients that have nothing are kept: %v", s.held)
	}
}
