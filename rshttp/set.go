package rshttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A Set is a set of resources that a Source publishes (section 9). Provider is mandatory.
//
// The upgrades of a set are found by type assertion on Provider, and on the values that a
// [resourcesync.Combined] has. A field with the name of
// an interface overrides that: it combines a wrapper with the upgrades that it hides, or a
// provider with a journal. Without another Stater, the Changer is
// the Stater if it implements that interface, and without another ChangeArchiver, its own
// archive is used if it has one ([resourcesync.ChangeArchived]).
type Set struct {
	// Name is the folder of the set's documents: letters, digits, '.', '_' and '-'. It
	// may be empty if the Source has only one set.
	Name string

	// Provider supplies the resources.
	Provider resourcesync.Provider

	Stater         resourcesync.Stater
	Cutter         resourcesync.Cutter
	Changer        resourcesync.Changer
	Opener         resourcesync.Opener
	ChangeOpener   resourcesync.ChangeOpener
	Watcher        resourcesync.Watcher
	Coverer        resourcesync.Coverer
	Archiver       resourcesync.Archiver
	ChangeArchiver resourcesync.ChangeArchiver

	// Memento gives each version in the ChangeOpener a URI of its own, to which the
	// entries of Change Lists link (section 14.6; RFC 7089). It needs a Changer and a
	// ChangeOpener. Versions of deleted resources are available as long as the
	// ChangeOpener has them.
	Memento bool

	// RemoteHubs are WebSub hubs, beside [Options].Hub, at which Destinations
	// subscribe to the set's notification channels. A set with a hub has a Framework
	// Notification channel and, if it has a journal, a Change Notification channel.
	// [Source.Run] publishes to them.
	RemoteHubs []topic.RemoteHub

	// Require names capabilities that the set must have. [New] fails if one is
	// missing, for example because a wrapper hides it.
	Require []resourcesync.Capability

	// DescribedBy is the URI of a document that describes the set. The Capability
	// List and the Source Description link to it. If empty, there is no link.
	DescribedBy string

	// Prefix is the path prefix of the set's URLs, such as "/papers/", if the
	// provider is not a Coverer. Without a Prefix and a Coverer, no URL gets a Link
	// header, because the link must name covered resources only.
	Prefix string
}

// set is a Set with its upgrades found.
type set struct {
	*site
	Set
	covers  func(*url.URL) bool
	unready atomic.Bool // the last request failed because the set was not ready

	// changeStater and changeWatcher describe the journal. They are those of the set
	// unless another value keeps the journal, which may then lag behind the set.
	changeStater  resourcesync.Stater
	changeWatcher resourcesync.Watcher

	archives []resourcesync.Capability // of the existing archives

	hubs    []string // URIs, that of the Source's own first
	sockets bool     // its channels are also served by WebSockets

	// Further upgrades of the Stater and the openers, or nil.
	partStater                     resourcesync.PartStater
	checksummer, changeChecksummer resourcesync.Checksummer
	patchOpener                    resourcesync.PatchOpener
	retainer                       resourcesync.VersionRetainer
	linker                         resourcesync.VersionLinker

	pages    *partition.Partitioner
	packages *partition.Partitioner
	windows  *partition.WindowCache // nil without a changer
	isReady  atomic.Bool
	reported reported // the problems of the set that have been logged

	recentChanges atomic.Pointer[recent] // for pages; nil before the first

	// The division of the set and its journal into packages.
	resourcePackages *packages.Resources
	changePackages   *packages.Journal
}

var setName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

func newSet(in *site, s Set, only bool, ownHub string) (*set, error) {
	switch {
	case s.Provider == nil:
		return nil, fmt.Errorf("rshttp: %s has no Provider", title(s.Name))
	case s.Name == "" && !only:
		return nil, errors.New("rshttp: one of several sets has no Name")
	case s.Name != "" && !setName.MatchString(s.Name):
		return nil, fmt.Errorf("rshttp: set name %q: use letters, digits, '.', '_' and '-', not beginning with '.'", s.Name)
	case s.Prefix != "" && !strings.HasPrefix(s.Prefix, "/"):
		return nil, fmt.Errorf("rshttp: %s: Prefix %q must be a path beginning with '/'", title(s.Name), s.Prefix)
	}
	out := &set{site: in, Set: s, sockets: in.options.WebSocket != nil}
	out.Stater = upgrade(s.Stater, s.Provider)
	out.Cutter = upgrade(s.Cutter, s.Provider)
	out.Changer = upgrade(s.Changer, s.Provider)
	if d, ok := s.Provider.(resourcesync.ChangerCutter); ok && s.Cutter == nil {
		out.Cutter = cmp.Or(d.CutterFor(s.Changer), out.Cutter)
	}
	out.Opener = upgrade(s.Opener, s.Provider)
	out.ChangeOpener = upgrade(s.ChangeOpener, s.Provider)
	out.Watcher = upgrade(s.Watcher, s.Provider)
	out.Archiver = upgrade(s.Archiver, s.Provider)
	out.ChangeArchiver = upgrade(s.ChangeArchiver, s.Provider)
	out.RemoteHubs = slices.Clone(s.RemoteHubs)
	if ownHub != "" {
		out.hubs = append(out.hubs, ownHub)
	}
	for _, h := range s.RemoteHubs {
		out.hubs = append(out.hubs, h.URI)
	}
	if c := upgrade(s.Coverer, s.Provider); c != nil {
		out.covers = c.Covers
	} else if s.Prefix != "" {
		out.covers = func(u *url.URL) bool { return strings.HasPrefix(u.Path, s.Prefix) }
	}
	// Not the parts of a journal: it may lag behind the resources.
	out.partStater, _ = out.Stater.(resourcesync.PartStater)
	out.findCompanions(s.Changer)
	if c, ok := s.Provider.(resourcesync.ChangerChecker); ok && out.Changer != nil {
		warning, err := c.CheckChanger(out.Changer)
		if err != nil {
			return nil, fmt.Errorf("rshttp: %s: %w", title(s.Name), err)
		}
		if warning != "" {
			in.log.Warn(warning, "set", s.Name)
		}
	}
	if out.Memento && (out.Changer == nil || out.ChangeOpener == nil) {
		return nil, fmt.Errorf("rshttp: %s cannot offer Memento without a Changer and a ChangeOpener", title(s.Name))
	}
	var err error
	if out.ChangeArchiver != nil && out.Changer == nil {
		return nil, fmt.Errorf("rshttp: %s has a ChangeArchiver without a Changer", title(s.Name))
	}
	if out.archives, err = newArchives(out); err != nil {
		return nil, fmt.Errorf("rshttp: %s: %w", title(s.Name), err)
	}
	for _, c := range s.Require {
		if !out.has(c) {
			return nil, fmt.Errorf("rshttp: %s cannot offer %q: %s (its Provider is %T)", title(s.Name), c, out.missing(c), s.Provider)
		}
	}
	out.divide(s.Changer)
	return out, nil
}

// divide prepares the partitions of st. journal is the Changer of another value than the
// Provider, or nil.
func (st *set) divide(journal resourcesync.Changer) {
	o := &st.options
	st.pages = partition.Pages(st.Name, st.Provider, st.Cutter, st.Stater, o.Division.PageSize)
	st.resourcePackages = &packages.Resources{Provider: st.Provider, Stater: st.Stater, PartStater: st.partStater, Size: st.packageSize()}
	if _, ordered := st.Changer.(resourcesync.Windower); ordered && journal == nil {
		st.resourcePackages.Changer = st.Changer
	}
	st.changePackages = newChangePackages(st)
	st.packages = newPackages(st)
	if st.Changer != nil {
		st.windows = partition.NewWindowCache(st.Name, st.Changer, o.Division.Window, o.Division.PageSize, max(o.Division.Settle, 0))
	}
}

// findCompanions finds further upgrades of the upgrades of st. journal is the Changer of
// another value than the Provider, or nil.
func (st *set) findCompanions(journal resourcesync.Changer) {
	if st.Stater == nil {
		st.Stater, _ = journal.(resourcesync.Stater)
	}
	st.changeStater, st.changeWatcher = st.Stater, st.Watcher
	if journal != nil {
		st.changeStater, _ = journal.(resourcesync.Stater)
		if w, ok := journal.(resourcesync.Watcher); ok {
			st.changeWatcher = w
		}
	}
	if a, ok := st.Changer.(resourcesync.ChangeArchived); ok && st.ChangeArchiver == nil {
		st.ChangeArchiver = a.Archive()
	}
	st.checksummer, _ = st.Opener.(resourcesync.Checksummer)
	st.changeChecksummer, _ = st.ChangeOpener.(resourcesync.Checksummer)
	st.patchOpener, _ = st.ChangeOpener.(resourcesync.PatchOpener)
	if _, ok := st.ChangeOpener.(resourcesync.Changer); !ok {
		st.retainer, _ = st.ChangeOpener.(resourcesync.VersionRetainer)
	}
	st.linker, _ = st.ChangeOpener.(resourcesync.VersionLinker)
}

// upgrade returns explicit or, if that is nil, p or else the first of its combined values that
// is a T.
func upgrade[T comparable](explicit T, p resourcesync.Provider) T {
	var none T
	if explicit != none {
		return explicit
	}
	if t, ok := any(p).(T); ok {
		return t
	}
	if c, ok := p.(resourcesync.Combined); ok {
		for _, v := range c.Upgrades() {
			if t, ok := v.(T); ok {
				return t
			}
		}
	}
	return none
}

// title names a set in an error. The only set of a Source need not have a name.
func title(set string) string {
	if set == "" {
		return "the set"
	}
	return fmt.Sprintf("set %q", set)
}

// ready returns an error, usually ErrNotReady, until the set has data for the first time. It
// prevents documents that depend on the configuration alone from linking to documents that
// are not available yet.
func (st *set) ready(ctx context.Context) error {
	if st.Stater == nil || st.isReady.Load() {
		return nil
	}
	_, err := st.Stater.Stat(ctx, partition.Whole)
	if err != nil {
		return err
	}
	st.isReady.Store(true)
	return nil
}
