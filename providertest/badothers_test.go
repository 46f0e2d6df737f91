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
	{"one byte more", "Open/bytes", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.open = func(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
			return longer(b.full.Open(ctx, r))
		}
		return b
	}},
	{"another version", "Open/bytes", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.open = func(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
			r.Stamp = strings.ReplaceAll(r.Stamp, "0", "9")
			return b.full.Open(ctx, r)
		}
		return b
	}},
	{"nothing is there", "Open/bytes", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.open = func(context.Context, resourcesync.Resource) (io.ReadCloser, error) { return nil, fs.ErrNotExist }
		return b
	}},
	{"everything is there", "Open/unknown", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.open = func(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) { return reader(r) }
		return b
	}},
	{"another error", "Open/unknown", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.open = func(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
			content, err := b.full.Open(ctx, r)
			if err != nil {
				err = errors.New("no rows")
			}
			return content, err
		}
		return b
	}},
	{"one byte more", "OpenChange/bytes OpenChange/past", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.openChange = func(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error) {
			return longer(b.full.OpenChange(ctx, c))
		}
		return b
	}},
	{"forgets what was deleted", "OpenChange/bytes OpenChange/past", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.openChange = func(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error) {
			if _, found := b.Get(c.Resource.Key); !found {
				return nil, fs.ErrNotExist
			}
			return b.full.OpenChange(ctx, c)
		}
		return b
	}},
	{"everything is there", "OpenChange/unknown", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.openChange = func(_ context.Context, c resourcesync.Change) (io.ReadCloser, error) {
			if c.Type == resourcesync.Deleted {
				return nil, fs.ErrNotExist
			}
			return reader(c.Resource)
		}
		return b
	}},
	{"another one", "Checksum/bytes Checksum/changes", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.checksum = func(ctx context.Context, r resourcesync.Resource) (uint32, error) {
			sum, err := b.full.Checksum(ctx, r)
			return sum + 1, err
		}
		return b
	}},
	{"fails when it does not know", "Checksum/bytes Checksum/changes", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.checksum = func(context.Context, resourcesync.Resource) (uint32, error) { return 0, fs.ErrNotExist }
		return b
	}},
	{"one byte more", "OpenPatch/bytes", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.openPatch = func(ctx context.Context, c resourcesync.Change, l resourcesync.Link) (io.ReadCloser, error) {
			return longer(b.full.OpenPatch(ctx, c, l))
		}
		return b
	}},
	{"everything is there", "OpenPatch/unknown", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.openPatch = func(_ context.Context, _ resourcesync.Change, l resourcesync.Link) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(string(Patch(l)))), nil
		}
		return b
	}},
	{"never", "Watch/wake", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.watch = func(ctx context.Context, _ func()) error {
			<-ctx.Done()
			return ctx.Err()
		}
		return b
	}},
	{"once", "Watch/wake", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.watch = func(ctx context.Context, wake func()) error {
			wake()
			<-ctx.Done()
			return nil
		}
		return b
	}},
	{"returns at once", "Watch/wake Watch/end", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.watch = func(_ context.Context, wake func()) error {
			wake()
			return nil
		}
		return b
	}},
	{"does not return", "Watch/end", false, func(after context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.watch = func(_ context.Context, wake func()) error { return b.full.Watch(after, wake) }
		return b
	}},
	{"fails in the end", "Watch/end", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.watch = func(ctx context.Context, wake func()) error {
			b.full.Watch(ctx, wake)
			return errors.New("closed")
		}
		return b
	}},
	{"wants a host", "Covers/resources", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.covers = func(u *url.URL) bool { return u.Host != "" && b.full.Covers(u) }
		return b
	}},
	{"forgets queries", "Covers/resources", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.covers = func(u *url.URL) bool { return u.RawQuery == "" && b.full.Covers(u) }
		return b
	}},
	{"one at a time", "Provider/concurrent", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		var running atomic.Int64
		b.covers = func(u *url.URL) bool {
			defer running.Add(-1)
			alone := running.Add(1) == 1
			time.Sleep(time.Microsecond) // so that it is not done before others begin
			return alone && b.full.Covers(u)
		}
		return b
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
