package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
)

// fileSuffix ends the name of the flag for a file with the value of another flag.
const fileSuffix = "-file"

// maxSecret is the maximum size of a file with a secret, in bytes.
const maxSecret = 64 << 10

// masked takes the place of a secret where people see it.
const masked = "*****"

// secretFlag adds a flag whose value nobody should see, and one for a file with the value:
// command lines can be seen by other users of the computer, and environments by other
// programs. set stores the value; its errors must not quote it. If shown is nil, the value is
// masked where people see it.
func secretFlag(flags *flag.FlagSet, name string, set func(text string) error, shown func() string) {
	flags.Var(&secret{set: set, shown: shown}, name, "")
	flags.Var(&secretFile{name, set}, name+fileSuffix, "")
}

// A secret is a flag.Value that shows no secret.
type secret struct {
	set   func(text string) error
	shown func() string
	given bool
}

func (s *secret) Set(text string) error {
	s.given = text != ""
	return s.set(text)
}

func (s *secret) String() string {
	switch {
	case s.shown != nil:
		return s.shown()
	case s.given:
		return masked
	}
	return ""
}

// A secretFile is a flag.Value: a file with the value of another flag.
type secretFile struct {
	of  string
	set func(text string) error
}

func (f *secretFile) String() string { return "" }

func (f *secretFile) Set(path string) error {
	text, err := readSecret(path)
	if err != nil {
		return err
	}
	if err := f.set(text); err != nil {
		return fmt.Errorf("the file %q does not contain a value of --%s: %w", path, f.of, err)
	}
	return nil
}

// readSecret returns the text of a file without a newline at its end. Errors do not quote
// it.
func readSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%q: %w", path, unreadable(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%q: %w", path, unreadable(err))
	case len(text) > maxSecret || strings.ContainsRune(string(text), 0):
		return "", fmt.Errorf("%q does not contain a secret: give a file of text with at most %d bytes", path, maxSecret)
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if secret == "" {
		return "", fmt.Errorf("%q is empty; write the secret into it", path)
	}
	return secret, nil
}

// storeText returns a function that stores a text.
func storeText(to *string) func(text string) error {
	return func(text string) error {
		*to = text
		return nil
	}
}

// withoutPassword returns the address of a database without its passwords. It returns
// masked if passwords cannot be located in it.
func withoutPassword(address string) string {
	if !strings.Contains(address, "://") {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return masked
	}
	if checkAddress(address) != nil {
		return masked
	}
	query := u.Query()
	for _, name := range []string{"password", "sslpassword"} {
		if query.Has(name) {
			query.Set(name, "xxxxx")
			u.RawQuery = query.Encode()
		}
	}
	return u.Redacted()
}

// checkAddress returns an error for the URL of a database with a password that ends its
// host, for example by a slash.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err == nil && u.User == nil && strings.Contains(address, "://") && strings.Contains(address, "@") && !u.Query().Has("user") {
		return errors.New("percent-encode special characters in the user and the password, such as / as %2F and # as %23")
	}
	return nil // connecting reports other errors
}

var errTwoValues = errors.New("a value and a file with the value contradict each other; leave out one of them")
