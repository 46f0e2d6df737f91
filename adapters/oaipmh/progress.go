package oaipmh

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// progress is the state between two harvests.
type progress struct {
	// Config is the configuration that determines the resources. If it changes, everything is listed
	// again.
	Config config `json:"config"`

	// Generation is the number of the last complete listing that has ended. The
	// resources that it listed, or a later one, have its number as their stamp.
	Generation int64 `json:"generation"`

	Identity   identity    `json:"identity"`
	Identified time.Time   `json:"identified"`
	Dates      granularity `json:"dates"`

	// Since is the repository's time at the beginning of the last listing that has
	// ended, and Compared our time at the end of the last complete one.
	Since    time.Time `json:"since"`
	Compared time.Time `json:"compared"`

	// Sweep reports that the missing resources of the last complete listing have not been
	// deleted yet, and Verified that they have been requested alone.
	Sweep    bool `json:"sweep,omitempty"`
	Verified bool `json:"verified,omitempty"`

	Full   *list `json:"full,omitempty"`   // the complete listing that is under way
	Recent *list `json:"recent,omitempty"` // the listing of recent changes

	// NoUntil reports that the repository ignores until.
	NoUntil bool `json:"noUntil,omitempty"`
}

// A config determines the resources of a set.
type config struct {
	URL, MetadataPrefix, Set string
	URI, URIPrefix           string
	DescribedBy              bool
}

func (r *Repository) config() config {
	o := &r.options
	return config{r.base.String(), o.MetadataPrefix, o.Set, o.URI, o.URIPrefix, o.DescribedBy}
}

// stateKey is the key of the resource whose stamp is the progress. The set of the state has
// no other.
const stateKey = "harvest"

// load reads the progress. It is zero before the first harvest.
func (h *harvest) load(ctx context.Context) error {
	// Known would return nothing for a damaged row. Without the generation, resources that
	// are missing later would stay listed.
	for kept, err := range h.state.Resources(ctx, only(stateKey)) {
		if err == nil {
			err = json.Unmarshal([]byte(kept.Stamp), &h.p)
		}
		if err != nil {
			return fmt.Errorf("oaipmh: the state of the harvest cannot be read: %w", err)
		}
	}
	return nil
}

// save stores the progress.
func (h *harvest) save(ctx context.Context) error {
	text, err := json.Marshal(&h.p)
	if err != nil {
		return err
	}
	h.report()
	return h.state.Put(ctx, resourcesync.Resource{Key: stateKey, URI: h.base.String(), Stamp: string(text)})
}

// gone is the stamp of a resource that the repository has reported as deleted, while its
// deletion is held.
const gone = "gone"

// stamp returns the stamp of the resources that are listed now.
func (p *progress) stamp() string {
	n := p.Generation
	if p.Full != nil {
		n++
	}
	return strconv.FormatInt(n, 10)
}

// isPresent reports whether a resource with this stamp was in the last complete listing, or
// has been listed since.
func (p *progress) isPresent(stamp string) bool {
	n, err := strconv.ParseInt(stamp, 10, 64)
	return err == nil && n >= p.Generation
}

// report updates the status.
func (h *harvest) report() {
	st := Status{
		Name: h.p.Identity.Name, DeletedRecord: h.p.Identity.DeletedRecord, Granule: h.p.Dates.granule(),
		Since: h.p.Since, Compared: h.p.Compared, Listing: h.p.Full != nil,
	}
	defer h.received.Ring()
	h.mu.Lock()
	defer h.mu.Unlock()
	st.Records, st.Size, st.Unlisted = h.status.Records, h.status.Size, h.status.Unlisted
	if l := h.p.Full; l != nil {
		st.Records, st.Size, st.Unlisted = l.Records, l.Size, l.Unlisted
	}
	h.status = st
}
