package webclient

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

// TestExplain: the text of an error of a server that does not answer has the cause in a few words.
func TestExplain(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for name, test := range map[string]struct {
		err   error
		cause string
	}{
		"refused": {dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "connection refused"},
		"no host": {dial(&net.DNSError{Err: "no such host", Name: "a.example", IsNotFound: true}), "no such host"},
		"timeout": {dial(os.ErrDeadlineExceeded), "timeout"},
		"slow":    {fmt.Errorf("sent nothing: %w", os.ErrDeadlineExceeded), "timeout"},
		"other":   {dial(errors.New("no route")), "no route"},
		"broken":  {io.ErrUnexpectedEOF, ""},
		"file":    {&os.PathError{Op: "open", Path: "a", Err: syscall.ENOSPC}, ""},
	} {
		got := Explain(fmt.Errorf("robots.txt: %w", test.err), "the website", "start it")
		want := "the website does not answer (" + test.cause + "); start it"
		if test.cause == "" {
			want = "robots.txt: " + test.err.Error()
		}
		if got.Error() != want || !errors.Is(got, test.err) {
			t.Errorf("%s: %v, expected %s", name, got, want)
		}
	}
}
