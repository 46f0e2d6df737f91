package pushlog_test

import (
	"context"
	"fmt"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// A hub reads the notifications after its cursor.
func Example() {
	ctx := context.Background()
	const topic, hub = "https://example.org/changes/", "https://hub.example.org/"
	log := pushlog.NewMemory()
	cursor, _ := log.HubCursor(ctx, topic, hub)
	n := pushlog.Notification{Topic: topic, Body: []byte("<urlset/>")}
	if err := log.Append(ctx, n, pushlog.State{}, pushlog.State{Number: 1}); err != nil {
		fmt.Println(err)
	}
	unread, err := log.Read(ctx, topic, cursor.Taken, 10, 1<<20)
	fmt.Println(len(unread), unread[0].Number, string(unread[0].Body), err)
	// Output: 1 1 <urlset/> <nil>
}
