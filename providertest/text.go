package providertest

import (
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// quote quotes a key; a long key is shortened.
func quote(key string) string {
	const most = 60
	if len(key) > most {
		return fmt.Sprintf("%q… (%d bytes)", key[:most], len(key))
	}
	return fmt.Sprintf("%q", key)
}

func rangeText(r resourcesync.Range) string {
	return fmt.Sprintf("from %s to %s", quote(r.From), quote(r.To))
}

func intervalText(iv resourcesync.Interval) string {
	return fmt.Sprintf("from %s until %s", timeText(iv.From), timeText(iv.Until))
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return "ever"
	}
	return t.UTC().Format(time.RFC3339Nano)
}
