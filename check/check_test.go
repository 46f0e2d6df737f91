package check_test

import "testing"

func TestCorrect(t *testing.T) {
	s := correct(t)
	r, _ := s.judge(t, nil)
	if n := s.requests["/socket"]; n != 1 {
		t.Errorf("%d requests for the WebSocket", n)
	}
	if len(r.Findings) > 0 || len(r.Unchecked) > 0 {
		t.Errorf("findings:\n%s", describe(r))
	}
	if r.Documents != 14 || r.Packages != 2 || r.Resources != 3 || r.Packed != 2+1 {
		t.Errorf("%d documents, %d packages, %d resources, %d of packages", r.Documents, r.Packages, r.Resources, r.Packed)
	}
}
