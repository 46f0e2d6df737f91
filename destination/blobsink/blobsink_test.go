package blobsink_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/destination/blobsink"
	"github.com/resourcesync-go/resourcesync/internal/azuretest"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
)

// each runs a test with a bucket of each kind that runs here.
func each(t *testing.T, f func(t *testing.T, b *blob.Bucket)) {
	t.Run("S3", func(t *testing.T) { f(t, s3test.New(t).Open(t)) })
	t.Run("Azure", func(t *testing.T) { f(t, azuretest.New(t).Open(t)) })
	t.Run("folder", func(t *testing.T) {
		b, err := fileblob.OpenBucket(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		f(t, b)
	})
	t.Run("memory", func(t *testing.T) {
		b := memblob.OpenBucket(nil)
		defer b.Close()
		f(t, b)
	})
}

func open(t *testing.T, b *blob.Bucket) *blobsink.Sink {
	t.Helper()
	s, err := blobsink.New(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func change(key string) resourcesync.Change {
	return resourcesync.Change{Type: resourcesync.Updated, Resource: resourcesync.Resource{Key: key, Type: "text/x-test"}}
}

// put puts an object through a Sink, and expects no error.
func put(t *testing.T, s *blobsink.Sink, key, content string) {
	t.Helper()
	if err := s.Put(t.Context(), change(key), strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
}

func flush(t *testing.T, s *blobsink.Sink) {
	t.Helper()
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Changes of one object are made in order, and repeated ones have no effect.
func TestOrder(t *testing.T) {
	each(t, func(t *testing.T, b *blob.Bucket) {
		for range 2 {
			s := open(t, b)
			for _, content := range []string{"one", "two", "three"} {
				put(t, s, "a/b", content)
			}
			put(t, s, "gone", "x")
			for range 2 {
				if err := s.Delete(t.Context(), change("gone")); err != nil {
					t.Fatal(err)
				}
			}
			flush(t, s)
			content, err := s.Open(t.Context(), change("a/b").Resource)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(content)
			content.Close()
			if string(text) != "three" || err != nil {
				t.Errorf("%q, %v", text, err)
			}
			if _, err := s.Open(t.Context(), change("gone").Resource); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("deleted: %v", err)
			}
			if a, err := b.Attributes(t.Context(), "a/b"); err != nil || a.ContentType != "text/x-test" {
				t.Errorf("%+v, %v", a, err)
			}
		}
	})
}

// A large resource comes as a file.
func TestFile(t *testing.T) {
	each(t, func(t *testing.T, b *blob.Bucket) {
		s := open(t, b)
		text := bytes.Repeat([]byte("0123456789"), 1_200_000)
		name := filepath.Join(t.TempDir(), "large")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := s.Put(t.Context(), change("large"), file); err != nil {
			t.Fatal(err)
		}
		flush(t, s)
		if got, err := b.ReadAll(t.Context(), "large"); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if _, err := os.Stat(name + ".upload"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file stays: %v", err)
		}
		// A file that cannot be read does not replace the object.
		file.Close()
		if err := s.Put(t.Context(), change("large"), file); err == nil {
			t.Error("a file that is gone was read")
		}
		if got, err := b.ReadAll(t.Context(), "large"); err != nil || !bytes.Equal(got, text) {
			t.Errorf("after a failed read: %d bytes, %v", len(got), err)
		}
	})
}

// An upload that has not ended when the process is told to stop is repeated later.
func TestStopped(t *testing.T) {
	b := s3test.New(t).Open(t)
	s := open(t, b)
	put(t, s, "a", "x")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Flush(ctx); err == nil {
		t.Error("Flush with a context that is done has succeeded")
	}
	if err := s.Prepare(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	put(t, s, "a", "y")
	flush(t, s)
	if got, err := b.ReadAll(t.Context(), "a"); string(got) != "y" {
		t.Errorf("%q, %v", got, err)
	}
}

// A bucket with other objects is refused.
func TestBucketOfOthers(t *testing.T) {
	each(t, func(t *testing.T, b *blob.Bucket) {
		if err := b.WriteAll(t.Context(), "data", []byte("precious"), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := blobsink.New(t.Context(), b); err == nil || !strings.Contains(err.Error(), `"data"`) {
			t.Errorf("%v", err)
		}
		open(t, blob.PrefixedBucket(b, "copy/"))
	})
}

// A store that cannot be reached is an error of the next Flush.
func TestUnreachable(t *testing.T) {
	in := s3test.New(t)
	b := in.Open(t)
	s := open(t, b)
	b.Close()
	_ = s.Put(t.Context(), change("a"), strings.NewReader("x"))
	if err := s.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("%v", err)
	}
}

// Objects of others are not replaced, with and without conditional uploads, and the other changes are
// made.
func TestObjectsOfOthers(t *testing.T) {
	each(t, func(t *testing.T, b *blob.Bucket) {
		for _, conditional := range []bool{true, false} {
			s := open(t, b)
			if !s.Conditional() {
				t.Error("the store does not know conditional uploads")
			}
			s.SetConditional(conditional)
			prefix := fmt.Sprint(conditional, "/")
			name := filepath.Join(t.TempDir(), "large")
			if err := os.WriteFile(name, bytes.Repeat([]byte("0123456789"), 1_200_000), 0o600); err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			for _, mine := range []string{"mine", "large"} {
				if err := b.WriteAll(t.Context(), prefix+mine, []byte("mine"), nil); err != nil {
					t.Fatal(err)
				}
			}
			for key, content := range map[string]io.Reader{"mine": strings.NewReader("new"), "large": file, "other": strings.NewReader("new")} {
				c := change(prefix + key)
				c.Type = resourcesync.Created
				if err := s.Put(t.Context(), c, content); err != nil {
					t.Fatal(err)
				}
			}
			err = s.Flush(t.Context())
			foreign, ok := destination.ForeignErrors(err)
			if !ok || len(foreign) != 2 || foreign[prefix+"mine"] == nil || foreign[prefix+"large"] == nil {
				t.Errorf("%v, %t: %v", foreign, ok, err)
			}
			for key, want := range map[string]string{"mine": "mine", "large": "mine", "other": "new"} {
				if got, err := b.ReadAll(t.Context(), prefix+key); string(got) != want {
					t.Errorf("%s: %.100q, %v", key, got, err)
				}
			}
		}
	})
}
