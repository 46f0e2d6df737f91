package origin

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/bucketurl"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A bucketConfig is the configuration of a set of the objects of a bucket.
type bucketConfig struct {
	Common
	bucket string
	at     *bucketurl.Bucket // bucket, parsed

	uri         string // the template of the URIs
	private     bool
	verifyEvery time.Duration // zero for never
}

func (b *bucketConfig) Declare(c *settings.Catalog) {
	c.Add(settings.Setting{Name: "bucket", Argument: true, Need: "the bucket whose objects are to be published", Example: "s3://NAME", Value: settings.Func(func(text string) error {
		b.bucket = text
		if at, err := bucketurl.Parse(text); err == nil {
			c.Change(settings.Setting{Name: "uri", Example: at.ExampleURI()})
		}
		return nil
	})})
	c.Add(
		settings.Setting{Name: "uri", Value: settings.Text(&b.uri), Need: "the public URL of the objects, with {key} in place of the name of an object", Example: "https://data.example.org/{key}",
			Text: `The template of the URIs of the resources, such as https://data.example.org/{key}: their public
				URL, with {key} in place of the name of the object. Names are percent-encoded, except for slashes,
				and begin after the prefix.`},
		settings.Setting{Name: "private", Value: settings.Bool(&b.private),
			Text: `List also objects that cannot be read without credentials, and request none before it is listed.
				Resources then have no media type and no checksum.`},
		settings.Setting{Name: "verify-every", Value: settings.Span(&b.verifyEvery), Default: "7d", Group: settings.Limits,
			Text: `How often to ask whether a listed object can still be read without credentials, which a listing of
				the bucket does not show. 0 asks only when an object has changed.`},
	)
	c.Change(settings.Setting{Name: "dumps", Default: "false",
		Text: `Offer the objects in ZIP packages, too, which are made while they are sent. They are read
			from the bucket, for which the store may charge.`})
	c.Change(settings.Setting{Name: "ping-token",
		Text: `The token with which the store and others report changes, by a POST to "ping" below the prefix:
			the event notifications of S3 as JSON, or a form with URIs of objects. Other users of this
			computer can see command lines: use --ping-token-file or the environment variable
			RESOURCESYNC_PING_TOKEN.`})
	c.Change(settings.Setting{Name: "rescan",
		Text: `The interval between listings of the bucket, such as 30s, 5m or 1h. Each takes a request for every
			thousand objects. A ping finds changes at once.`})
}

func (c *bucketConfig) Check(string) (err error) {
	var f settings.Faults
	if c.at, err = bucketurl.Parse(c.bucket); err != nil {
		f.Add(settings.Errorf("%w", err))
	}
	f.If(c.verifyEvery != 0 && c.verifyEvery < time.Minute, "verify-every", "give a minute or more, such as 12h or 7d, or 0 for never")
	if err := bucket.CheckTemplate(c.uri); err != nil {
		f.Add(settings.Fault("uri", "%w", err))
	}
	return f.Err()
}

func (c *bucketConfig) Question() string {
	return fmt.Sprintf("Does the bucket %s have all of its objects?", c.at)
}

func (c *bucketConfig) StateName() string { return "objects" }

func (c *bucketConfig) Identity(string) (scan.Identity, error) {
	return scan.Identity{Name: "bucket " + c.at.String()}, nil
}

func (c *bucketConfig) Open(ctx context.Context, m *Set) (*Content, error) {
	opened, err := c.at.Open(ctx)
	if err != nil {
		return nil, settings.Errorf("%w", err)
	}
	objects, err := bucket.New(opened, c.uri, &bucket.Options{
		Name:        c.at.String(),
		Service:     c.at.Service(),
		Prefix:      c.at.Prefix,
		Private:     c.private,
		VerifyEvery: cmp.Or(c.verifyEvery, -1),
		UserAgent:   "resourcesync (+" + m.BaseURL + ")",
		Logger:      m.Log,
	})
	if err != nil {
		opened.Close()
		return nil, settings.Errorf("%w", err)
	}
	content := &Content{
		From: slog.String("bucket", c.at.String()), Unit: "object",
		Origin: objects,
		Ping:   objects.Ping,
		Close:  opened.Close,
	}
	return content, nil
}
