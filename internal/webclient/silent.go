package webclient

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// NoAnswer returns in a few words why a server does not answer, or "" if err is another error.
func NoAnswer(err error) string {
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return e.Err
	}
	// Every error of a system call is a net.Error, too.
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return "timeout"
	}
	e, ok := errors.AsType[*net.OpError](err)
	if !ok {
		return ""
	}
	if number, ok := errors.AsType[syscall.Errno](e.Err); ok {
		return number.Error()
	}
	return e.Err.Error()
}

// Explain returns err. If it means that a server does not answer, its text names the server, says
// why, and ends with a remedy.
func Explain(err error, server, remedy string) error {
	if cause := NoAnswer(err); cause != "" {
		return silentError{err, fmt.Sprintf("%s does not answer (%s); %s", server, cause, remedy)}
	}
	return err
}

// A silentError has a text of its own. The error in it names addresses and system calls.
type silentError struct {
	error
	text string
}

func (e silentError) Error() string { return e.text }
func (e silentError) Unwrap() error { return e.error }
