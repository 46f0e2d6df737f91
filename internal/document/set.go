package document

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync/atomic"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/covercache"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// A Given is a set as the host gives it: its Provider, and upgrades that override the
// upgrades of the Provider.
type Given struct {
	Name           string
	Provider       resourcesync.Provider
	Stater         resourcesync.Stater
	Cutter         resourcesync.Cutter
	Changer        resourcesync.Changer
	Opener         resourcesync.Opener
	ChangeOpener   resourcesync.ChangeOpener
	Watcher        resourcesync.Watcher
	Archiver       resourcesync.Archiver
	ChangeArchiver resourcesync.ChangeArchiver

	Memento     bool                      // versions have URIs
	NoFramework bool                      // there is no channel of Framework Notifications
	NoDumps     bool                      // there are no dumps, even if the Provider can open resources
	Hubs        []string                  // URIs of the hubs of its channels, the Source's own first
	Require     []resourcesync.Capability // that the set must have
	About       About
	DescribedBy string // URI
}

// A Set is a set of resources, its upgrades, and its division.
type Set struct {
	*Site
	Given

	// ChangeStater and ChangeWatcher describe the journal. They are the Stater and Watcher of
	// the set unless another value keeps the journal, which may then lag behind the set.
	ChangeStater  resourcesync.Stater
	ChangeWatcher resourcesync.Watcher
	WatchesApart  bool // ChangeWatcher is not the Watcher of the set

	// Covered remembers which URLs the set covers, or is nil. RunSets tells it about changes.
	Covered *covercache.Cache

	Archives []resourcesync.Capability // of the existing archives

	// Further upgrades of the Stater and the openers, or nil.
	partStater                     resourcesync.PartStater
	checksummer, changeChecksummer resourcesync.Checksummer
	patchOpener                    resourcesync.PatchOpener
	retainer                       resourcesync.VersionRetainer
	linker                         resourcesync.VersionLinker

	Pages    *partition.Partitioner
	Packages *partition.Partitioner
	Windows  *partition.WindowCache // nil without a changer
	isReady  atomic.Bool
	reported reported // the problems of the set that have been logged

	// The division of the set and its journal into packages.
	ResourcePackages *packages.Resources
	ChangePackages   *packages.Journal
}

var setName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

func newSet(in *Site, s Given, only bool) (*Set, error) {
	switch {
	case s.Provider == nil:
		return nil, fmt.Errorf("%s has no Provider", Title(s.Name))
	case s.Name == "" && !only:
		return nil, errors.New("one of several sets has no Name")
	case s.Name != "" && !setName.MatchString(s.Name):
		return nil, fmt.Errorf("set name %q: use letters, digits, '.', '_' and '-', not beginning with '.'", s.Name)
	}
	if field, err := s.About.Check(); err != nil {
		return nil, fmt.Errorf("%s: %s of About: %w", Title(s.Name), field, err)
	}
	out := &Set{Site: in, Given: s}
	out.Stater = Upgrade(s.Stater, s.Provider)
	out.Cutter = Upgrade(s.Cutter, s.Provider)
	out.Changer = Upgrade(s.Changer, s.Provider)
	if d, ok := s.Provider.(resourcesync.ChangerCutter); ok && s.Cutter == nil {
		out.Cutter = cmp.Or(d.CutterFor(s.Changer), out.Cutter)
	}
	out.Opener = Upgrade(s.Opener, s.Provider)
	out.ChangeOpener = Upgrade(s.ChangeOpener, s.Provider)
	out.Watcher = Upgrade(s.Watcher, s.Provider)
	out.Archiver = Upgrade(s.Archiver, s.Provider)
	out.ChangeArchiver = Upgrade(s.ChangeArchiver, s.Provider)
	if s.NoDumps {
		out.Opener, out.ChangeOpener = nil, nil
	}
	// Not the parts of a journal: it may lag behind the resources.
	out.partStater, _ = out.Stater.(resourcesync.PartStater)
	out.findCompanions(s.Changer)
	if c, ok := s.Provider.(resourcesync.ChangerChecker); ok && out.Changer != nil {
		warning, err := c.CheckChanger(out.Changer)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Title(s.Name), err)
		}
		if warning != "" {
			in.Log.Warn(warning, "set", s.Name)
		}
	}
	if out.Memento && (out.Changer == nil || out.ChangeOpener == nil) {
		return nil, fmt.Errorf("%s cannot offer Memento without a Changer and a ChangeOpener", Title(s.Name))
	}
	var err error
	if out.ChangeArchiver != nil && out.Changer == nil {
		return nil, fmt.Errorf("%s has a ChangeArchiver without a Changer", Title(s.Name))
	}
	if out.Archives, err = newArchives(out); err != nil {
		return nil, fmt.Errorf("%s: %w", Title(s.Name), err)
	}
	for _, c := range s.Require {
		if !out.Has(c) {
			return nil, fmt.Errorf("%s cannot offer %q: %s (its Provider is %T)", Title(s.Name), c, out.missing(c), s.Provider)
		}
	}
	out.divide(s.Changer)
	return out, nil
}

// divide prepares the partitions of st. journal is the Changer of a value other than the
// Provider, or nil.
func (st *Set) divide(journal resourcesync.Changer) {
	st.Pages = partition.Pages(st.Name, st.Provider, st.Cutter, st.Stater, st.Division.PageSize)
	st.ResourcePackages = &packages.Resources{Provider: st.Provider, Stater: st.Stater, PartStater: st.partStater, Size: st.packageSize()}
	if _, ordered := st.Changer.(resourcesync.Windower); ordered && journal == nil {
		st.ResourcePackages.Changer = st.Changer
	}
	st.ChangePackages = newChangePackages(st)
	st.Packages = newPackages(st)
	if st.Changer != nil {
		st.Windows = partition.NewWindowCache(st.Name, st.Changer, st.Division.Window, st.Division.PageSize, max(st.Division.Settle, 0))
	}
}

// findCompanions finds further upgrades of the upgrades of st. journal is the Changer of
// a value other than the Provider, or nil.
func (st *Set) findCompanions(journal resourcesync.Changer) {
	if st.Stater == nil {
		st.Stater, _ = journal.(resourcesync.Stater)
	}
	st.ChangeStater, st.ChangeWatcher = st.Stater, st.Watcher
	if journal != nil {
		st.ChangeStater, _ = journal.(resourcesync.Stater)
		if w, ok := journal.(resourcesync.Watcher); ok {
			st.ChangeWatcher, st.WatchesApart = w, true
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

// Upgrade returns explicit or, if that is nil, p or else the first of its combined values that
// is a T.
func Upgrade[T comparable](explicit T, p resourcesync.Provider) T {
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

// Title names a set in an error. The only set of a Source need not have a name.
func Title(set string) string {
	if set == "" {
		return "the set"
	}
	return fmt.Sprintf("set %q", set)
}

// Ready returns an error, usually ErrNotReady, until the set has data for the first time. It
// prevents documents that depend on the configuration alone from linking to documents that
// are not available yet.
func (st *Set) Ready(ctx context.Context) error {
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
