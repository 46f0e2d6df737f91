package providertest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

var badOthers = []bad{
	{"one byte more", "Open/bytes", func(b *bent) {
		b.open = func(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
			return longer(b.full.Open(ctx, r))
		}
	}},
	{"another version", "Open/bytes", func(b *bent) {
		b.open = func(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
			r.Stamp = strings.ReplaceAll(r.Stamp, "0", "9")
			return b.full.Open(ctx, r)
		}
	}},
	{"nothing is there", "Open/bytes", func(b *bent) {
		b.open = func(context.Context, resourcesync.Resource) (io.ReadCloser, error) { return nil, fs.ErrNotExist }
	}},
	{"everything is there", "Open/unknown", func(b *bent) {
		b.open = func(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) { return reader(r) }
	}},
	{"another error", "Open/unknown", func(b *bent) {
		b.open = func(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
			content, err := b.full.Open(ctx, r)
			if err != nil {
				err = errors.New("no rows")
			}
			return content, err
		}
	}},
	{"one byte more", "OpenChange/bytes OpenChange/past", func(b *bent) {
		b.openChange = func(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error) {
			return longer(b.full.OpenChange(ctx, c))
		}
	}},
	{"forgets what was deleted", "OpenChange/bytes OpenChange/past", func(b *bent) {
		b.openChange = func(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error) {
			if !b.has(ctx, c.Resource.Key) {
				return nil, fs.ErrNotExist
			}
			return b.full.OpenChange(ctx, c)
		}
	}},
	{"everything is there", "OpenChange/unknown", func(b *bent) {
		b.openChange = func(_ context.Context, c resourcesync.Change) (io.ReadCloser, error) {
			if c.Type == resourcesync.Deleted {
				return nil, fs.ErrNotExist
			}
			return reader(c.Resource)
		}
	}},
	{"another one", "Checksum/bytes Checksum/changes", func(b *bent) {
		b.checksum = func(ctx context.Context, r resourcesync.Resource) (uint32, error) {
			sum, err := b.full.Checksum(ctx, r)
			return sum + 1, err
		}
	}},
	{"fails when it does not know", "Checksum/bytes Checksum/changes", func(b *bent) {
		b.checksum = func(context.Context, resourcesync.Resource) (uint32, error) { return 0, fs.ErrNotExist }
	}},
	{"one byte more", "OpenPatch/bytes", func(b *bent) {
		b.openPatch = func(ctx context.Context, c resourcesync.Change, l resourcesync.Link) (io.ReadCloser, error) {
			return longer(b.full.OpenPatch(ctx, c, l))
		}
	}},
	{"everything is there", "OpenPatch/unknown", func(b *bent) {
		b.openPatch = func(_ context.Context, _ resourcesync.Change, l resourcesync.Link) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(string(Patch(l)))), nil
		}
	}},
	{"never", "Watch/wake", func(b *bent) {
		b.watch = func(ctx context.Context, _ func()) error {
			<-ctx.Done()
			return ctx.Err()
		}
	}},
	{"once", "Watch/wake", func(b *bent) {
		b.watch = func(ctx context.Context, wake func()) error {
			wake()
			<-ctx.Done()
			return nil
		}
	}},
	{"returns at once", "Watch/wake Watch/end", func(b *bent) {
		b.watch = func(_ context.Context, wake func()) error {
			wake()
			return nil
		}
	}},
	{"does not return", "Watch/end", func(b *bent) {
		b.watch = func(_ context.Context, wake func()) error { return b.full.Watch(b.after, wake) }
	}},
	{"fails in the end", "Watch/end", func(b *bent) {
		b.watch = func(ctx context.Context, wake func()) error {
			b.full.Watch(ctx, wake)
			return errors.New("closed")
		}
	}},
	{"wants a host", "Covers/resources", func(b *bent) {
		b.covers = func(u *url.URL) bool { return u.Host != "" && b.full.Covers(u) }
	}},
	{"forgets queries", "Covers/resources", func(b *bent) {
		b.covers = func(u *url.URL) bool { return u.RawQuery == "" && b.full.Covers(u) }
	}},
	{"one at a time", "Provider/concurrent", func(b *bent) {
		var running atomic.Int64
		b.covers = func(u *url.URL) bool {
			defer running.Add(-1)
			alone := running.Add(1) == 1
			time.Sleep(time.Microsecond) // so that it is not done before others begin
			return alone && b.full.Covers(u)
		}
	}},
}

// longer reads one byte more than it should.
func longer(content io.ReadCloser, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(content, strings.NewReader("!")), content}, nil
}
