package settings

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/edits"
)

// An Error is a mistake in a command line, a variable or a configuration file, and says how to
// correct it.
type Error struct{ err error }

func (e Error) Error() string { return e.err.Error() }

// Unwrap returns the cause, which may show that it is not such a mistake.
func (e Error) Unwrap() error { return e.err }

// Errorf returns an [Error].
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

// A fault is a wrong value of a setting, until [Catalog.Locate] says where it is.
type fault struct {
	name string
	err  error
}

func (f *fault) Error() string { return "--" + f.name + ": " + f.err.Error() }

func (f *fault) Unwrap() error { return f.err }

// Fault returns an error for the value of a setting. The text says what to give.
func Fault(name, format string, args ...any) error {
	return Error{&fault{name, fmt.Errorf(format, args...)}}
}

// Faults are the errors in settings. Error returns the text of the first one.
type Faults []error

// Add adds the errors that are not nil and not yet in f. It adds the faults in [Faults] one
// by one.
func (f *Faults) Add(errs ...error) {
	for _, err := range errs {
		if more, ok := errors.AsType[Faults](err); ok {
			f.Add(more...)
		} else if err != nil && !slices.ContainsFunc(*f, func(other error) bool { return other.Error() == err.Error() }) {
			*f = append(*f, err)
		}
	}
}

// If adds an error for the value of a setting if wrong is true.
func (f *Faults) If(wrong bool, name, format string, args ...any) {
	if wrong {
		f.Add(Fault(name, format, args...))
	}
}

// Err returns the faults as an error; nil if there are none.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Error implements error.
func (f Faults) Error() string { return f[0].Error() }

// Unwrap returns all faults.
func (f Faults) Unwrap() []error { return f }

// Locate returns err with the place and the value of each wrong setting in it.
func (c *Catalog) Locate(err error) error {
	if all, ok := errors.AsType[Faults](err); ok {
		located := make(Faults, len(all))
		for i, one := range all {
			located[i] = c.Locate(one)
		}
		return located
	}
	wrong, ok := errors.AsType[*fault](err)
	if !ok {
		return err
	}
	s := c.Lookup(wrong.name)
	if s == nil {
		return err
	}
	place, value := s.given.from, strings.Join(s.given.values, " ")
	switch {
	case place == "" && s.Argument:
		place, value = s.Name, s.Default
	case place == "":
		place, value = "--"+s.Name, s.Default
	}
	if s.given.inFile || s.IsBool() {
		return Errorf("%s: %w", place, wrong.err)
	}
	if s.Show != nil {
		value = s.Show(value)
	}
	return Errorf("%s %q: %w", place, value, wrong.err)
}

// DidYouMean returns a question that suggests the name closest to the given one, or "" if none
// is close.
func DidYouMean(given string, names []string, prefix string) string {
	best, fewest := "", 3
	for _, name := range names {
		if d := edits.Distance(given, name, fewest-1); d < fewest && d < len(name) {
			best, fewest = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, best)
}

// plainWord matches words that shells do not change.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:~%+@=,-]+$`)

// ShellWord returns text as one word of a shell.
func ShellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// keyWord returns the value of a key as it must be written in a configuration file. Braces
// begin a mapping there.
func keyWord(value string) string {
	if plainWord.MatchString(value) {
		return value
	}
	return "'" + value + "'"
}
