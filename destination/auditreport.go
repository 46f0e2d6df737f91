package destination

// An AuditReport is the result of [Destination.Audit]. Each resource is counted once, and as
// Damaged if it is. Each count has the URIs of some of the first resources.
type AuditReport struct {
	// Listed is the number of entries of the Resource Lists, and Same the number of resources
	// whose version in the copy is the version at the Source.
	Listed int64 `json:"listed"`
	Same   int64 `json:"same"`

	Missing Found `json:"missing"` // the Source lists them, the copy lacks them
	Differs Found `json:"differs"` // the copy shows another version
	Extra   Found `json:"extra"`   // the copy has them, the Source does not list them
	Damaged Found `json:"damaged"` // the Sink has other content than it was given, or none

	// Undecided is the number of resources that a later Sync has to request, because the
	// documents do not say which version is the current one: the Resource Lists and the Change
	// Lists contradict each other, and the last Sync has not requested the resource; only the
	// times of an entry differ, although the copy was requested after them; or no document has
	// shown the lastmod of the copy.
	Undecided int64 `json:"undecided,omitempty"`

	// Held is the number of extra resources whose deletion is held; see [Options].MaxDelete. Gone
	// has the first of the sets that the Source no longer names. Their resources are extra, too.
	Held int64     `json:"held,omitempty"`
	Gone []GoneSet `json:"gone,omitempty"`

	Deviations int64       `json:"deviations,omitempty"`
	Deviating  []Deviation `json:"deviating,omitempty"` // see [Report]
}

// Found holds the findings of an audit of one kind.
type Found struct {
	Count int64    `json:"count"`
	URIs  []string `json:"uris,omitempty"`
}

func (f *Found) add(uri string) {
	if f.Count++; len(f.URIs) < samples {
		f.URIs = append(f.URIs, uri)
	}
}

// InSync reports whether the audit has found no difference.
func (a *AuditReport) InSync() bool {
	return a.Missing.Count+a.Differs.Count+a.Extra.Count+a.Damaged.Count == 0
}
