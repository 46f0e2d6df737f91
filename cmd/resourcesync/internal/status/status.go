// Package status shows operators the status of a running site: as data, as a page, and as tables
// on a terminal.
package status

import (
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/harvesters"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/static"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// Health says whether there are problems, and which.
type Health struct {
	Healthy  bool     `json:"healthy"`
	Problems []string `json:"problems,omitempty"`
}

// HasProblems reports whether there are problems.
func (h *Health) HasProblems() bool { return !h.Healthy }

// A Status describes a publication for operators. Values that cannot be read are
// missing, and Problems has the errors.
type Status struct {
	Health

	// The status of the set. If there are several sets, Files and Changed are of all of them.
	Set
	Sets []Set `json:"sets,omitempty"` // if they have names

	// CertificateExpires is the time at which the certificate of the site expires; zero for http.
	CertificateExpires time.Time `json:"certificateExpires,omitzero"`

	Source     rshttp.Counters `json:"source"`
	Push       *topic.Status   `json:"push,omitempty"`
	Hub        *hub.Status     `json:"hub,omitempty"`
	WebSockets *int            `json:"webSockets,omitempty"` // connected clients

	Standby *Standby `json:"standby,omitempty"` // of the database with the state

	Published []Place `json:"published,omitempty"` // the buckets that keep documents

	// Subscriptions are those at the built-in hub that need attention first, 100 at most.
	Subscriptions []Subscription `json:"subscriptions,omitempty"`

	// Harvesters are those with the newest requests to this process, 100 at most.
	Harvesters []Harvester `json:"harvesters,omitempty"`
}

// A Standby is a standby that lists are read from.
type Standby struct {
	Lag          *float64  `json:"lagSeconds,omitempty"` // missing if it cannot be used
	Error        string    `json:"error,omitempty"`      // why it cannot be used
	FailingSince time.Time `json:"failingSince,omitzero"`
	Reads        int64     `json:"reads"`
	Behind       int64     `json:"behind"` // reads that the primary served, because the standby lacked changes
	Failed       int64     `json:"failed"` // reads that the primary served, because the standby failed
}

// StandbyOf describes a standby.
func StandbyOf(of *sqlstore.StandbyStatus) *Standby {
	s := &Standby{FailingSince: of.FailingSince, Reads: of.Reads, Behind: of.Behind, Failed: of.Failed}
	if of.Err != nil {
		s.Error = exit.OfDatabase(of.Err).Error()
	} else {
		s.Lag = new(of.Lag.Seconds())
	}
	return s
}

// standbyPatience is how long a standby may fail, or lag, before that is a problem.
const standbyPatience = 5 * time.Minute

// Problem returns the problem of a standby that has been unusable for minutes, or nil.
func (s *Standby) Problem(now time.Time) error {
	switch {
	case s.Error != "" && now.Sub(s.FailingSince) > standbyPatience:
		return fmt.Errorf("the standby in --read-from has been unusable since %s: %s", timetext.Of(s.FailingSince), s.Error)
	case s.Lag != nil && *s.Lag > standbyPatience.Seconds():
		return fmt.Errorf("the standby in --read-from lags by %s: does it replay?", lag(time.Duration(*s.Lag*float64(time.Second))))
	}
	return nil
}

// state describes the standby in words.
func (s *Standby) state() string {
	if s.Lag == nil {
		return "cannot be used: " + s.Error
	}
	return fmt.Sprintf("lags by %.1f\u00a0s", *s.Lag)
}

// A Place is a bucket that keeps the documents of sets.
type Place struct {
	Bucket string   `json:"bucket"`
	Sets   []string `json:"sets,omitempty"` // their names
	static.PublicationStatus
}

// state returns what the process does with the bucket, in words.
func (p *Place) state() string {
	switch {
	case p.LastError != "":
		return "failing"
	case p.Publishing:
		return "kept up to date"
	}
	return "not kept by this process now"
}

// A Set describes a set for operators.
type Set struct {
	Name       string          `json:"name,omitempty"`
	Kind       string          `json:"kind,omitempty"` // of a set with a name
	Files      *int64          `json:"files,omitempty"`
	Uncounted  bool            `json:"uncounted,omitempty"`      // the set does not count its resources
	Changed    time.Time       `json:"changed,omitzero"`         // the time of the newest change in the journal
	Scan       *Scan           `json:"scan,omitempty"`           // the last complete scan of this process
	Site       *sitemap.Status `json:"site,omitempty"`           // of a website: the contents of its sitemaps, and the age of the oldest check
	Repository *oaipmh.Status  `json:"repository,omitempty"`     // of an OAI-PMH repository
	Held       *Held           `json:"held,omitempty"`           // by the last scan of any process
	Journal    *sqltable.Proof `json:"journal,omitempty"`        // of a table with triggers: how complete its journal is
	Notes      []string        `json:"notes,omitempty"`          // not failures, but conditions that need attention
	Pending    *float64        `json:"pendingSeconds,omitempty"` // of a table with triggers: the age of the oldest change that is not in the journal yet
}

// A Scan is the result of a complete scan. Its changes include those that have been
// found since, without a complete scan.
type Scan struct {
	Ended      time.Time `json:"ended"`
	Seconds    float64   `json:"seconds"`               // its duration
	Failed     bool      `json:"failed,omitempty"`      // it ended before everything was scanned
	Since      time.Time `json:"failingSince,omitzero"` // the end of the first of the scans that have failed in a row
	Created    int       `json:"created"`
	Updated    int       `json:"updated"`
	Deleted    int       `json:"deleted"`
	Unchanged  int       `json:"unchanged"`
	Skipped    int64     `json:"skipped"`    // files and folders that could not be read, have too long a name, or are symbolic links
	Unreadable int       `json:"unreadable"` // files that stay listed because they could not be read
}

type Harvester struct {
	harvesters.Harvester

	// Behind is the time for which it has lacked a change of a set that it reads, in seconds: 0 if
	// it has read all, nil if unknown.
	Behind *float64 `json:"behindSeconds,omitempty"`

	// InSync means that it must have all changes: it has read a Resource List and the changes from
	// there, or its callback has accepted all notifications.
	InSync bool `json:"inSync,omitempty"`
}

// ShownHarvesters is the maximum number of harvesters in a status.
const ShownHarvesters = 100

// Held are deletions that are not published.
type Held struct {
	Files     int64     `json:"files"`
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until,omitzero"`
	Confirmed bool      `json:"confirmed"`

	// For the page: what is missing, in the singular, what to look at, and the command that
	// confirms the deletions, which may lack a hidden password.
	Unit     string `json:"-"`
	Question string `json:"-"`
	Release  string `json:"-"`
	Hidden   bool   `json:"-"`
}

// Add adds the resources of another set to s. Their number is unknown as long as one of the
// numbers is.
func (s *Status) Add(other *Set) {
	switch {
	case len(s.Sets) == 1:
		s.Files, s.Changed = other.Files, other.Changed
		return
	case s.Files != nil && other.Files != nil:
		s.Files = new(*s.Files + *other.Files)
	default:
		s.Files = nil
	}
	if other.Changed.After(s.Changed) {
		s.Changed = other.Changed
	}
}
