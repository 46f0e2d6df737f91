package origin

import (
	"cmp"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/bucketurl"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/scan"
)

// Common are the settings that sets of all kinds have.
type Common struct {
	Kind string
	Name string // the folder of the set's documents; "" if the set is alone
	Path string // of the site's URLs that the set serves, below the base URL; "" or with a slash at the end

	Rescan      time.Duration // the longest interval between complete scans
	MaxDelete   float64
	hold        time.Duration // of deletions; zero for until they are confirmed
	Moved       bool          // the state is of this origin when it was elsewhere
	Dumps       bool
	About       About
	DescribedBy string            // the URI of a description of the set
	Publish     string            // the bucket that keeps the documents; "" for none
	PublishAt   *bucketurl.Bucket // Publish, parsed
	PingToken   string            // "" for no pings
}

func (s *Common) Shared() *Common { return s }

func (s *Common) Declare(c *settings.Catalog) {
	c.Add(
		settings.Setting{Name: "rescan", Value: settings.Span(&s.Rescan), Default: "5m",
			Text: `The interval between scans of a whole set, such as 30s, 5m or 1h. Without this setting, it is 10m
			for sets of the kind oai.`},
		settings.Setting{Name: "max-delete", Value: settings.Percent(&s.MaxDelete), Default: "25%", Group: settings.Limits,
			Text: `The share of the resources of a set that may disappear before deletions are held, because an
			unmounted volume or a failing website looks the same. Held deletions are published after
			"resourcesync confirm-deletions" or --max-delete-hold; new and changed resources are still
			published. Deletions are added up over one to two hours. One or two deletions are never held,
			unless the set would become empty. 100% holds nothing, and publishes held deletions.`},
		settings.Setting{Name: "max-delete-hold", Value: settings.Span(&s.hold), Default: "1h", Group: settings.Limits,
			Text: `How long deletions are held. They are published if no resource has come back in that time, and few
			more have disappeared. 0 holds them until they are confirmed.`},
		settings.Setting{Name: "moved", Value: settings.Bool(&s.Moved), Group: settings.State,
			Text: `Accept the state although the origin of a set has changed. Give it once, after a folder
			or website has moved. Without it, the state of another origin is refused, because all of its
			resources would be published as deleted. A state in PostgreSQL records no folders, because each
			server may have them elsewhere.`},
		settings.Setting{Name: "dumps", Value: settings.Bool(&s.Dumps), Default: "true",
			Text: `Offer the resources of each set in ZIP packages, too, which are made while they are sent. A
			copy of all resources then takes far fewer requests. Without this setting, only sets of the kind
			folder offer them. Sets of the kinds oai and table never can. Disable with --dumps=false.`},
		settings.Setting{Name: "set-described-by", Value: settings.Text(&s.DescribedBy), Group: settings.Lists,
			Text: "The URL of a document about the resources of a set and their metadata."},
		settings.Setting{Name: "publish", Value: settings.Text(&s.Publish), Without: "none", Group: settings.Lists, Show: settings.WithoutPassword,
			Text: `A bucket in which to keep the documents of a set as well, as s3://NAME/PREFIX, gs://NAME or
				azblob://NAME, so that the store or a CDN answers readers. Its prefix is the root of the site.
				This program sends the notifications. There are no dumps in the bucket.`},
	)
	c.AddSecret(settings.Setting{Name: "ping-token", Value: settings.Text(&s.PingToken), Group: settings.Push, Show: settings.Mask,
		Text: `The token with which plug-ins and cron jobs report changes, by a POST to "ping" below the prefix.
			Other users of this computer can see command lines: use --ping-token-file or the environment
			variable RESOURCESYNC_PING_TOKEN.`})
}

// Check returns an error for wrong settings that all kinds have.
func (s *Common) Check() error {
	var f settings.Faults
	f.If(s.Rescan < time.Second, "rescan", "give a second or more, such as 30s, 5m or 1h")
	f.If(s.hold < 0, "max-delete-hold", "give a time such as 30m or 1h, or 0 for no end")
	f.Add(CheckURI("set-described-by", s.DescribedBy), s.About.Check())
	if s.Publish != "" {
		at, err := bucketurl.Parse(s.Publish)
		if err != nil {
			f.Add(settings.Fault("publish", "%w", err))
		}
		s.PublishAt = at
	}
	return f.Err()
}

// Apart says how to give a refused set another state.
func (s *Common) Apart() string {
	if s.Name != "" {
		return "give the set another name"
	}
	return "give another file with --state"
}

// StoreOptions keep a new set closed until all resources have been seen. In these
// options, zero is the default, and a negative value means zero on the command line.
func (s *Common) StoreOptions() *scan.SetOptions {
	return &scan.SetOptions{
		AwaitScan:     true,
		MaxDelete:     cmp.Or(s.MaxDelete, -1),
		MaxDeleteHold: cmp.Or(s.hold, -1),
	}
}
