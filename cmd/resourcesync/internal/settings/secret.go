package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
)

// fileSuffix ends the name of the setting for a file with the value of another one.
const fileSuffix = "-file"

// maxSecret is the maximum size of a file with a secret, in bytes.
const maxSecret = 64 << 10

// AddSecret adds a setting whose value not everybody may see, as defined by Show, and one
// for a file with the value: command lines can be seen by other users of the computer,
// and environments by other programs. The errors of the Value must not quote it.
func (c *Catalog) AddSecret(s Setting) {
	c.Add(s)
	c.AddFile(s.Name, cmp.Or(s.Group, State), s.Value.Set)
}

// AddFile adds the setting for a file with the value of the setting of, which set stores.
func (c *Catalog) AddFile(of string, in Group, set func(text string) error) {
	text := "A file with the value of --" + of + "."
	if c.Lookup(of).IsRepeated() {
		text = "A file with values of --" + of + ", one in each line."
	}
	c.Add(Setting{Name: of + fileSuffix, Value: &secretFile{of: of, set: set}, Group: in, Offer: completion.Values{Files: true}, Text: text})
}

// A secretFile is the Value of a file with the value of another setting.
type secretFile struct {
	of  string
	set func(text string) error
}

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
		return "", fmt.Errorf("%q: %w", path, Unreadable(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%q: %w", path, Unreadable(err))
	case len(text) > maxSecret || strings.ContainsRune(string(text), 0):
		return "", fmt.Errorf("%q does not contain a secret: give a file of text with at most %d bytes", path, maxSecret)
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if secret == "" {
		return "", fmt.Errorf("%q is empty; write the secret into it", path)
	}
	return secret, nil
}

// Unreadable returns err, which reading a file has caused, without the path and with a remedy.
func Unreadable(err error) error {
	remedy := "check the file and its disk"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		remedy = "make the file, or correct the path"
	case errors.Is(err, fs.ErrPermission):
		remedy = "let the user of this process read the file, or give another one"
	case errors.Is(err, syscall.EISDIR):
		remedy = "give a file in that folder"
	}
	return fmt.Errorf("%w; %s", withoutPath(err), remedy)
}

// withoutPath returns an error of a file without the path, which is quoted before it.
func withoutPath(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// masked takes the place of a secret where people see it.
const masked = "*****"

// Mask hides a value.
func Mask(string) string { return masked }

// WithoutPassword returns the address of a database or a hub without its passwords, or
// masked if they cannot be located in it.
func WithoutPassword(address string) string {
	if !strings.Contains(address, "://") {
		return address
	}
	u, err := url.Parse(address)
	if err != nil || CheckAddress(address) != nil {
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

// CheckAddress returns an error for the URL of a database with a password that ends its
// host, for example by a slash.
func CheckAddress(address string) error {
	u, err := url.Parse(address)
	if err == nil && u.User == nil && strings.Contains(address, "://") && strings.Contains(address, "@") && !u.Query().Has("user") {
		return errors.New("percent-encode special characters in the user and the password, such as / as %2F and # as %23")
	}
	return nil // connecting reports other errors
}
