package resourcesync

// A Capability is the kind of a document: the value of the capability attribute,
// which is mandatory in all documents (section 7). A document and its index have the
// same capability.
type Capability string

// The capabilities of the core specification, of Archives, and of Change
// Notification and Framework Notification 1.0.1.
const (
	Description           Capability = "description"    // the Source Description (8)
	CapabilityList        Capability = "capabilitylist" // (9)
	ResourceList          Capability = "resourcelist"   // (10)
	ResourceDump          Capability = "resourcedump"   // (11.1)
	ResourceDumpManifest  Capability = "resourcedump-manifest"
	ChangeList            Capability = "changelist" // (12)
	ChangeDump            Capability = "changedump" // (13.1)
	ChangeDumpManifest    Capability = "changedump-manifest"
	ChangeNotification    Capability = "change-notification"
	FrameworkNotification Capability = "framework-notification"

	ResourceListArchive Capability = "resourcelist-archive" // (Archives, 3)
	ResourceDumpArchive Capability = "resourcedump-archive" // (Archives, 4)
	ChangeListArchive   Capability = "changelist-archive"   // (Archives, 5)
	ChangeDumpArchive   Capability = "changedump-archive"   // (Archives, 6)
)
