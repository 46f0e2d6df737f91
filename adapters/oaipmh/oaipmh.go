// Package oaipmh fills a set with the records of an OAI-PMH 2.0 repository
// (https://www.openarchives.org/OAI/openarchivesprotocol.html), so that software that only
// speaks that protocol becomes a ResourceSync Source.
//
//	repository, err := oaipmh.New("https://repo.example/oai", nil)
//	...
//	set, err := scan.Into(ctx, store, "records", repository, &scan.Options{Every: 10 * time.Minute})
//
// Each record describes a resource: its URI is the first http or https URL among the
// identifiers in the record's metadata, such as dc:identifier, or comes from a template over
// the OAI identifier ([Options.URI]). Its lastmod is the datestamp of the record. The key in
// the set is the OAI identifier.
//
// Each scan is a harvest ([Repository.Fill]). The first lists the whole repository, and the
// others list the records since the last harvest, with an overlap. A repository need not
// report deletions, so from time to time a harvest lists everything again ([Options.FullEvery])
// and deletes missing records, under the guard of [scan.SetOptions] against mass deletions.
//
// # Completeness
//
// The progress of a harvest is stored after each response, so a process that dies continues with
// the resumption token that it has. If the repository no longer knows the token, the harvester
// lists again from the beginning, in spans of time that become shorter until they end before the
// tokens expire. The clock of the repository counts, not the local one. The granularity is the
// precision of the datestamps that were received, because the stated one can be wrong; the
// overlap is at least one granule.
//
// While a list is read, the repository may change, and a list by offsets then skips records.
// So a record that is missing is requested alone before it is deleted, and a long listing is
// followed by one of the changes since its beginning.
package oaipmh

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/uritemplate"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/scan"
)

// Options are the optional arguments of [New]. The zero value is a reasonable default.
type Options struct {
	// MetadataPrefix is the format of the metadata: only records that have it are
	// harvested. If empty, oai_dc is used, which every repository has.
	MetadataPrefix string

	// Set is the setSpec of the set to which the harvest is limited. If empty, it is
	// the whole repository.
	Set string

	// URI is a template for the URIs of resources, such as
	// https://repo.example/{+local}. {identifier} is the identifier of the record,
	// percent-encoded; {+identifier} keeps slashes and other reserved characters; {local}
	// and {+local} are the part after oai:namespace:. Only headers are then
	// requested. If empty, the URI is the first http or https URL in an element
	// "identifier" of the metadata, of any namespace, and records without one
	// are not listed.
	URI string

	// URIPrefix restricts the identifiers in the metadata to those that begin with it,
	// if URI is empty.
	URIPrefix string

	// DescribedBy adds to each resource a link to the metadata of the record: the URL
	// of its GetRecord request.
	DescribedBy bool

	// Overlap is how far each harvest reaches back before the beginning of the
	// last one, for repositories whose records appear later than their
	// datestamps say. It is at least one granule: a second, or a day if the datestamps
	// have no time of day. If zero, one hour is used.
	Overlap time.Duration

	// FullEvery is the time between complete listings, which find the records that have
	// disappeared. If zero, it is a week, or four weeks if the repository states that it
	// keeps deleted records and Set is empty. If negative, only the first
	// listing is complete.
	FullEvery time.Duration

	// Every is how often recent changes are requested during a complete listing.
	// If zero, ten minutes is used.
	Every time.Duration

	// MaxState limits what the records of one listing take in the state, in bytes: their
	// identifiers and URIs, and 200 bytes for each. A repository can list any number, so a
	// harvest that exceeds it fails, and deletes nothing. If zero, 16 GiB is used.
	MaxState int64

	// Rate is the maximum number of requests per second. If zero, 1 is used.
	Rate float64

	// UserAgent identifies the harvester to the repository. It should have an address
	// for complaints. If empty, "resourcesync" is used.
	UserAgent string

	// Logger receives errors and progress between harvests. If nil, slog.Default() is used.
	Logger *slog.Logger
}

// defaultMaxState is the default of Options.MaxState, in bytes.
const defaultMaxState = 16 << 30

// A Repository is an OAI-PMH repository, or one of its sets, that is harvested. It is a
// [scan.Origin]. All methods are safe for concurrent use.
type Repository struct {
	given    string   // the base URL for people, and in the record of a set
	base     *url.URL // without a fragment
	set      scan.Stored
	state    scan.Stored
	template *template // nil: URIs come from the metadata
	options  Options
	client   *fetch.Client
	log      *slog.Logger

	running  sync.Mutex      // one Fill at a time
	bell     background.Bell // rings when Changed is called
	received background.Bell // rings when the status changes
	hinted   atomic.Bool     // Changed has been called since the last listing
	mu       sync.Mutex
	status   Status
	warnings map[string]bool // messages that have been logged
}

// New returns the Repository whose OAI-PMH interface is at baseURL. It sends no request. opts
// may be nil.
func New(baseURL string, opts *Options) (*Repository, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.MetadataPrefix = cmp.Or(o.MetadataPrefix, "oai_dc")
	o.Overlap = cmp.Or(o.Overlap, time.Hour)
	o.Every = cmp.Or(o.Every, 10*time.Minute)
	o.Rate = cmp.Or(o.Rate, 1)
	o.MaxState = cmp.Or(o.MaxState, defaultMaxState)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	u, err := url.Parse(baseURL)
	if err == nil {
		err = rsxml.CheckURI(baseURL)
	}
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("oaipmh: the base URL %q must be like https://repo.example/oai", baseURL)
	case u.User != nil:
		return nil, errors.New("oaipmh: the base URL must not have a user name, because it is published")
	case u.Query().Has("verb"):
		return nil, fmt.Errorf("oaipmh: the base URL %q contains a request: leave out verb=%s", baseURL, u.Query().Get("verb"))
	case o.MaxState < 0:
		return nil, errors.New("oaipmh: MaxState must not be negative")
	case o.Overlap < 0 || o.Every < 0 || o.Rate < 0:
		return nil, errors.New("oaipmh: Overlap, Every and Rate must not be negative")
	case o.URI != "" && o.URIPrefix != "":
		return nil, errors.New("oaipmh: URIPrefix selects identifiers of the metadata, which a template does not use; leave out one of the two")
	}
	u.Fragment, u.RawFragment = "", ""
	r := &Repository{given: baseURL, base: u, options: o, log: o.Logger, warnings: map[string]bool{}}
	if o.URI != "" {
		if r.template, err = parseTemplate(o.URI); err != nil {
			return nil, fmt.Errorf("oaipmh: %w", err)
		}
	}
	// The operator has named the host; its redirects may lead to public addresses only.
	// robots.txt is not for an interface that exists for harvesters.
	r.client = fetch.New(fetch.Options{
		Trusted: []string{fetch.HostPort(u)}, Rate: o.Rate, Concurrency: 1, UserAgent: o.UserAgent, IgnoreRobots: true,
	})
	return r, nil
}

// A Status describes the last harvest.
type Status struct {
	Name          string        `json:"name,omitempty"`          // of the repository
	DeletedRecord string        `json:"deletedRecord,omitempty"` // no, transient or persistent
	Granule       time.Duration `json:"-"`                       // the precision of its datestamps: a second or a day
	Since         time.Time     `json:"since,omitzero"`          // the next harvest requests later datestamps, less the overlap
	Compared      time.Time     `json:"compared,omitzero"`       // when the last complete listing ended
	Listing       bool          `json:"listing"`                 // a complete listing is under way
	Records       int64         `json:"records"`                 // received by it, or else by the last one
	Size          int64         `json:"size,omitempty"`          // records in all, as the repository states; 0 if it does not
	Unlisted      int64         `json:"unlisted"`                // records among these without a usable URI
}

// Status returns the status after the last response.
func (r *Repository) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// request returns the URL of a request.
func (r *Repository) request(arguments ...string) string {
	q := r.base.RawQuery
	for i := 0; i < len(arguments); i += 2 {
		if arguments[i+1] == "" {
			continue
		}
		if q != "" {
			q += "&"
		}
		q += arguments[i] + "=" + string(uritemplate.AppendEscaped(nil, arguments[i+1], ""))
	}
	u := *r.base
	u.RawQuery = q
	return u.String()
}

// recordURL returns the URL of the metadata of a record.
func (r *Repository) recordURL(identifier string) string {
	return r.request("verb", "GetRecord", "metadataPrefix", r.options.MetadataPrefix, "identifier", identifier)
}

// wants returns the URI that an identifier in the metadata stands for.
func (r *Repository) wants(text string) (string, bool) {
	if r.template != nil || !strings.HasPrefix(text, cmp.Or(r.options.URIPrefix, "http")) {
		return "", false
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", false
	}
	return u.String(), true // without characters that RFC 3986 forbids
}

// resource returns the resource of a record. ok is false if it cannot be listed.
func (r *Repository) resource(rec *record, stamp string) (out resourcesync.Resource, ok bool) {
	uri := rec.uri
	if r.template != nil {
		uri = r.template.expand(rec.identifier)
	}
	out = resourcesync.Resource{Key: rec.identifier, URI: uri, Stamp: stamp}
	out.LastModified, _, _ = parseDatestamp(rec.datestamp)
	if r.options.DescribedBy {
		out.Links = []resourcesync.Link{{Rel: resourcesync.RelDescribedBy, Href: r.recordURL(rec.identifier), Type: "text/xml"}}
	}
	return out, len(out.Key) <= resourcesync.MaxKeyLength && rsxml.CheckResource(&out) == nil
}

// warn logs a message once.
func (r *Repository) warn(message string, args ...any) {
	r.mu.Lock()
	known := r.warnings[message]
	r.warnings[message] = true
	r.mu.Unlock()
	if !known {
		r.log.Warn(message, args...)
	}
}
