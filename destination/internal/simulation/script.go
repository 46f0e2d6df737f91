package simulation

import (
	"bufio"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A Script is a history: the parameters of its world, and the events in the order of time. Its
// text has one parameter or event a line, and no line for a parameter with the zero value.
type Script struct {
	Params
	Events []Event
}

// Params are the parameters of a world. See their comments for the values; the first one is the
// zero value.
type Params struct {
	// Seed determines only latencies and random faults.
	Seed uint64

	// Source is "foreign", "memory", "sqlite" or "static".
	Source string

	// Times is the form of times in documents: "microsecond", "second" or "day".
	Times string

	// Changes is the content of an entry of a Change List: "datetime" and lastmod, "lastmod"
	// alone as in version 1.0, or "bare".
	Changes string

	// LastMod is the origin of lastmod: "clock" (the moment of the change), "backwards" (an
	// older file replaces a newer one), "future", "constant" or "none".
	LastMod string

	NoHash   bool // entries have no hashes
	NoLength bool // entries have no lengths

	// Validators are the validators of resources, and Documents those of documents: "etag",
	// "modified" or "none".
	Validators string
	Documents  string

	// Order is the order of entries: "forward", "reverse" or "shuffled".
	Order string

	// At is the time of the Resource List minus the time of its snapshot. NoAt leaves it
	// out.
	At   time.Duration
	NoAt bool

	// Published means that the Resource List is a file that an event publishes.
	Published bool

	// Lists is the form in which Change Lists are published: "index", "single" (it
	// restarts when the Resource List is published) or "none".
	Lists string

	// Until is the until of a closed list: the time of its "close", of its "last"
	// change, or "none".
	Until string

	Retain int // closed Change Lists that are kept; 0: all

	// Index is the form of indexes: "sitemapindex", "urlset" or "next" for pages that link to
	// the next one.
	Index string
	Parts int // of the Resource List; 0: no index

	Sets   int           // 0: one
	Skew   time.Duration // of the clock of a foreign Source
	NoDate bool          // responses have no Date

	// Dumps is "none", "resources", "changes" or "both". They lag behind by DumpLag. Manifests means
	// that packages have copies of their manifests, and NoLists that there are no lists.
	Dumps              string
	DumpLag            time.Duration
	Manifests, NoLists bool

	// Service means that one process runs all operations until it is killed.
	Service bool

	// Quick means that requests take no time. An operation then ends before the next event,
	// even one at the same moment.
	Quick bool

	UseDumps bool // the Destination uses all packages
	Guard    bool // the Destination limits deletions

	Capacity int // bytes of the disk; 0: any number

	// The rates of faults, in 1/1000 of what they hit. Errors are statuses; resets have no
	// response, and old documents come from a cache.
	Errors, Resets, Cuts, Old, Kills, Full int

	// Hub means that a foreign Source has a hub, and Notices is the rate of faults of notifications.
	Hub     bool
	Notices int

	// RetryAfter is sent with the statuses 503 and 429.
	RetryAfter time.Duration
}

// An Event happens at a time after the beginning.
type Event struct {
	At   time.Duration
	Verb string
	Args []string
}

func (e Event) String() string {
	return strings.TrimSpace(fmt.Sprintf("%v %s %s", e.At, e.Verb, strings.Join(e.Args, " ")))
}

// Text returns the text of a script.
func (s *Script) Text() string {
	var b strings.Builder
	v := reflect.ValueOf(s.Params)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			fmt.Fprintf(&b, "%s %v\n", strings.ToLower(v.Type().Field(i).Name), f.Interface())
		}
	}
	b.WriteString("\n")
	for _, e := range s.Events {
		b.WriteString(e.String() + "\n")
	}
	return b.String()
}

// ParseScript parses the text of a script. Lines that begin with # are comments.
func ParseScript(text string) (*Script, error) {
	s := &Script{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := s.parse(fields); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return s, lines.Err()
}

func (s *Script) parse(fields []string) error {
	if fields[0][0] >= '0' && fields[0][0] <= '9' {
		at, err := time.ParseDuration(fields[0])
		if err == nil && len(fields) < 2 {
			err = fmt.Errorf("the event at %v has no verb", at)
		}
		if err != nil {
			return err
		}
		s.Events = append(s.Events, Event{at, fields[1], fields[2:]})
		return nil
	}
	v := reflect.ValueOf(&s.Params).Elem().FieldByNameFunc(func(name string) bool { return strings.ToLower(name) == fields[0] })
	if !v.IsValid() || len(fields) != 2 {
		return fmt.Errorf("%q is not a parameter with a value", strings.Join(fields, " "))
	}
	return set(v, fields[1])
}

func set(v reflect.Value, text string) error {
	switch v.Interface().(type) {
	case string:
		v.SetString(text)
	case time.Duration:
		d, err := time.ParseDuration(text)
		v.SetInt(int64(d))
		return err
	case bool:
		b, err := strconv.ParseBool(text)
		v.SetBool(b)
		return err
	case int:
		n, err := strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
		return err
	case uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		v.SetUint(n)
		return err
	}
	return nil
}
