package main

import (
	"cmp"
	"context"
	"flag"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A bucketConfig is the configuration of a set of the objects of a bucket.
type bucketConfig struct {
	setSettings
	bucket string
	at     *bucketURL // bucket, parsed

	uri         string // the template of the URIs
	private     bool
	verifyEvery span // zero for never
}

func (c *bucketConfig) flags(flags *flag.FlagSet) {
	setDefault(flags, "dumps", "false") // the store may charge for what they read
	flags.StringVar(&c.uri, "uri", "", "")
	flags.BoolVar(&c.private, "private", false, "")
	c.verifyEvery = span(7 * day)
	flags.Var(&c.verifyEvery, "verify-every", "")
}

func (c *bucketConfig) argument() *string { return &c.bucket }

func (c *bucketConfig) required() []requirement {
	example := "https://data.example.org/{key}"
	if at, err := parseBucketURL(c.bucket); err == nil {
		example = at.exampleURI()
	}
	return []requirement{
		{"bucket", "the bucket whose objects are to be published", "s3://NAME", c.bucket},
		{"uri", "the public URL of the objects, with {key} in place of the name of an object", example, c.uri},
	}
}

func (c *bucketConfig) check(*siteConfig) (err error) {
	if c.at, err = parseBucketURL(c.bucket); err != nil {
		return usageError{err}
	}
	switch {
	case c.verifyEvery < 0:
		return usagef("--verify-every %v: give a time such as 12h or 7d, or 0 for never", &c.verifyEvery)
	case c.verifyEvery != 0 && time.Duration(c.verifyEvery) < time.Minute:
		return usagef("--verify-every %v: give a minute or more, such as 12h or 7d, or 0 for never", &c.verifyEvery)
	}
	if err := bucket.CheckTemplate(c.uri); err != nil {
		return usagef("--uri: %w", err)
	}
	return nil
}

func (c *bucketConfig) stateName() string { return "objects" }

func (c *bucketConfig) identity(*siteConfig) (scan.Identity, error) {
	return scan.Identity{Name: "bucket " + c.at.String()}, nil
}

func (c *bucketConfig) open(ctx context.Context, m *member) (*content, error) {
	opened, err := c.at.open(ctx)
	if err != nil {
		return nil, usageError{err}
	}
	objects, err := bucket.New(opened, c.uri, &bucket.Options{
		Name:        c.at.String(),
		Service:     c.at.service(),
		Prefix:      c.at.prefix,
		Private:     c.private,
		VerifyEvery: cmp.Or(time.Duration(c.verifyEvery), -1),
		UserAgent:   "resourcesync (+" + m.baseURL + ")",
		Logger:      m.log,
	})
	if err != nil {
		opened.Close()
		return nil, usageError{err}
	}
	content := &content{
		from: slog.String("bucket", c.at.String()), unit: "object",
		origin: objects,
		ping:   objects.Ping,
		close:  opened.Close,
	}
	return content, nil
}
