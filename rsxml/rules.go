package rsxml

import (
	"math/bits"

	"github.com/resourcesync-go/resourcesync"
)

// An attrSet is a set of the attributes of rs:md.
type attrSet uint16

const (
	at attrSet = 1 << iota
	capability
	change
	completed
	datetime
	encoding
	from
	hash
	length
	path
	mediaType
	until
)

var attrNames = [...]string{
	"at", "capability", "change", "completed", "datetime", "encoding",
	"from", "hash", "length", "path", "type", "until",
}

// first returns the name of the first attribute in s, which must have one.
func (s attrSet) first() string { return attrNames[bits.TrailingZeros16(uint16(s))] }

const (
	snapshot = at | completed
	interval = from | until

	// ofDocuments are the attributes that the rs:md of some document may have,
	// and ofResources those that the rs:md of any entry may have (section 7,
	// table 3).
	ofDocuments = capability | snapshot | interval
	ofResources = capability | encoding | hash | length | mediaType
)

// rules are the specification's rules for the documents of one capability.
type rules struct {
	section string // of the specification

	// The allowed and mandatory attributes of the document's rs:md, beside
	// capability.
	may, must attrSet

	// The allowed and mandatory attributes of the rs:md of entries, beside
	// ofResources. All in entryMust are in entryMay or ofResources.
	entryMay, entryMust attrSet

	// inOrder is the attribute that orders the entries; 0 if none does.
	inOrder attrSet
}

// A docType selects the rules of a document.
type docType struct {
	capability resourcesync.Capability
	index      bool
}

const (
	core8   = "Core 8"
	core9   = "Core 9"
	core101 = "Core 10.1"
	core102 = "Core 10.2"
	core111 = "Core 11.1"
	core112 = "Core 11.2"
	core121 = "Core 12.1"
	core122 = "Core 12.2"
	core131 = "Core 13.1"
	core132 = "Core 13.2"
	cn3     = "Change Notification 3"
	fn3     = "Framework Notification 3"

	archives3 = "Archives 3"
	archives4 = "Archives 4"
	archives5 = "Archives 5"
	archives6 = "Archives 6"
)

// allRules has the rules of each document of the core specification (sections 8 to 13,
// and Appendix A for at and from), the notification specifications and Archives. A
// capability without a row for its index has no index; an unknown capability has no
// rules. The head of an archive needs no time, because its entries have the times of
// the documents that they lead to.
var allRules = map[docType]*rules{
	// section, may, must, entryMay, entryMust, inOrder
	{resourcesync.Description, false}: {core8, 0, 0, 0, 0, 0},
	{resourcesync.Description, true}:  {core8, 0, 0, 0, 0, 0},

	{resourcesync.CapabilityList, false}: {core9, 0, 0, 0, capability, 0},

	{resourcesync.ResourceList, false}: {core101, snapshot, at, 0, 0, 0},
	{resourcesync.ResourceList, true}:  {core102, snapshot, at, snapshot, 0, 0},

	{resourcesync.ResourceDump, false}: {core111, snapshot, at, snapshot, 0, 0},
	{resourcesync.ResourceDump, true}:  {core111, snapshot, at, snapshot, 0, 0},

	{resourcesync.ResourceDumpManifest, false}: {core112, snapshot, at, path, path, 0},

	{resourcesync.ChangeList, false}: {core121, interval, from, change | datetime, change, datetime},
	{resourcesync.ChangeList, true}:  {core122, interval, from, interval, 0, from},

	{resourcesync.ChangeDump, false}: {core131, interval, from, interval, 0, 0},
	{resourcesync.ChangeDump, true}:  {core131, interval, from, interval, 0, 0},

	{resourcesync.ChangeDumpManifest, false}: {core132, interval, from, change | datetime | path, change | path, datetime},

	{resourcesync.ChangeNotification, false}: {cn3, interval, interval, change | datetime, change, datetime},

	{resourcesync.FrameworkNotification, false}: {fn3, interval, 0, change | datetime, change | capability, 0},

	{resourcesync.ResourceListArchive, false}: {archives3, snapshot, 0, snapshot, at, at},
	{resourcesync.ResourceListArchive, true}:  {archives3, snapshot, 0, snapshot, 0, at},
	{resourcesync.ResourceDumpArchive, false}: {archives4, snapshot, 0, snapshot, at, at},
	{resourcesync.ResourceDumpArchive, true}:  {archives4, snapshot, 0, snapshot, 0, at},
	{resourcesync.ChangeListArchive, false}:   {archives5, interval, 0, interval, interval, from},
	{resourcesync.ChangeListArchive, true}:    {archives5, interval, 0, interval, 0, from},
	{resourcesync.ChangeDumpArchive, false}:   {archives6, interval, 0, interval, interval, from},
	{resourcesync.ChangeDumpArchive, true}:    {archives6, interval, 0, interval, 0, from},
}
