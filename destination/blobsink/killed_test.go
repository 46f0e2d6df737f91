package blobsink_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"gocloud.dev/blob"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/destination/blobsink"
)

// A killedSink has stored what it flushes when the process ends.
type killedSink struct{ *blobsink.Sink }

func (s killedSink) Flush(ctx context.Context) error {
	return errors.Join(s.Sink.Flush(ctx), errors.New("killed"))
}

// A process is killed after it has deleted objects and before that is recorded. Then its user stores an object
// with the name of one of them. The next run leaves it alone, and deletes the others.
func TestKilledDeletion(t *testing.T) {
	each(t, func(t *testing.T, b *blob.Bucket) {
		b = blob.PrefixedBucket(b, "killed/")
		src := newSource(t, map[string]string{"a": "one", "b": "two", "stays": "three"})
		o := destination.Options{State: t.TempDir(), MaxDelete: 1, Logger: slog.New(slog.DiscardHandler)}
		src.sync(t, b, o)
		delete(src.contents, "a")
		delete(src.contents, "b")
		sink, err := blobsink.New(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		d, err := destination.New(src.URL, killedSink{sink}, &o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Sync(t.Context()); err == nil {
			t.Error("no error")
		}
		if err := errors.Join(d.Close(), sink.Close()); err != nil {
			t.Fatal(err)
		}
		if exists, err := b.Exists(t.Context(), "a"); exists || err != nil {
			t.Errorf("a is not deleted: %v", err)
		}
		if err := b.WriteAll(t.Context(), "a", []byte("mine"), nil); err != nil {
			t.Fatal(err)
		}
		if r := src.sync(t, b, o); r.Failed != 0 || r.Resources != 1 {
			t.Errorf("%+v", r)
		}
		if text, err := b.ReadAll(t.Context(), "a"); string(text) != "mine" {
			t.Errorf("the object of the user: %q, %v", text, err)
		}
		if exists, err := b.Exists(t.Context(), "b"); exists || err != nil {
			t.Errorf("b is not deleted: %v", err)
		}
	})
}
