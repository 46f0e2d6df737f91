package publisher

import (
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// thousand returns typical changes of a repository.
func thousand() []resourcesync.Change {
	begin := moment("2025-01-01T00:00:00Z")
	changes := make([]resourcesync.Change, 1000)
	for i := range changes {
		changes[i] = resourcesync.Change{
			Type:     resourcesync.Updated,
			Datetime: begin.Add(time.Duration(i+1) * time.Microsecond),
			Resource: resourcesync.Resource{
				Key:          fmt.Sprintf("%08d", i),
				URI:          fmt.Sprintf("https://museum.example.org/objects/%08d", i),
				LastModified: begin,
				Length:       resourcesync.Bytes(20721),
				Type:         "application/pdf",
				Hashes:       []resourcesync.Hash{{Algorithm: "md5", Digest: "9b16ee889992674fb7e9d32aee640b68"}},
			},
		}
	}
	return changes
}

// makeNotification makes one notification of changes with b.
func makeNotification(tb testing.TB, b *batch, changes []resourcesync.Change) []byte {
	var left omissions
	b.begin(changes[0].Datetime.Add(-time.Microsecond))
	for i := range changes {
		if ok, err := b.add(&changes[i], &left); !ok || err != nil {
			tb.Fatal(ok, err)
		}
	}
	b.seen = b.last
	return b.body(capabilityList)
}

// BenchmarkNotification makes a notification of 1,000 changes.
func BenchmarkNotification(b *testing.B) {
	changes := thousand()
	batch := newBatch(capabilityList, 1000)
	b.SetBytes(int64(len(makeNotification(b, batch, changes))))
	b.ReportAllocs()
	for b.Loop() {
		makeNotification(b, batch, changes)
	}
}

// TestNotificationAllocations: the allocations for a notification do not grow with the
// number of changes.
func TestNotificationAllocations(t *testing.T) {
	changes := thousand()
	batch := newBatch(capabilityList, 1000)
	makeNotification(t, batch, changes)
	if n := testing.AllocsPerRun(20, func() { makeNotification(t, batch, changes) }); n > 5 {
		t.Errorf("%v allocations", n)
	}
}
