package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/resourcesync-go/resourcesync"
)

//docs:begin provider

// A Bucket publishes the values of a JetStream key-value bucket.
type Bucket struct {
	kv   jetstream.KeyValue
	site string // the public URL of the values, with a slash at its end
}

// Resources implements [resourcesync.Provider]. The keys of a listing are in memory, because
// JetStream has no order of keys.
func (b Bucket) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		keys, err := b.keys(ctx, r)
		if err != nil {
			yield(resourcesync.Resource{}, err)
			return
		}
		for _, key := range keys {
			entry, err := b.kv.Get(ctx, key)
			if errors.Is(err, jetstream.ErrKeyNotFound) {
				continue // it was deleted meanwhile
			}
			if err != nil {
				yield(resourcesync.Resource{}, err)
				return
			}
			if !yield(b.resource(entry), nil) {
				return
			}
		}
	}
}

// keys returns the keys in r, in order.
func (b Bucket) keys(ctx context.Context, r resourcesync.Range) ([]string, error) {
	lister, err := b.kv.ListKeys(ctx)
	if err != nil {
		return nil, err
	}
	defer lister.Stop()
	var keys []string
	for key := range lister.Keys() {
		if key >= r.From && (r.To == "" || key < r.To) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, ctx.Err()
}

// resource returns the entry of a value.
func (b Bucket) resource(e jetstream.KeyValueEntry) resourcesync.Resource {
	digest := sha256.Sum256(e.Value())
	return resourcesync.Resource{
		Key:          e.Key(),
		URI:          b.site + url.PathEscape(e.Key()),
		LastModified: e.Created(),
		Length:       resourcesync.Bytes(int64(len(e.Value()))),
		Hashes:       []resourcesync.Hash{{Algorithm: "sha-256", Digest: hex.EncodeToString(digest[:])}},
	}
}

//docs:end

//docs:begin upgrades

// Stat implements [resourcesync.Stater]: each write has a sequence number in the stream of the
// bucket.
func (b Bucket) Stat(ctx context.Context, _ resourcesync.Range) (resourcesync.Stat, error) {
	status, err := b.kv.Status(ctx)
	if err != nil {
		return resourcesync.Stat{}, err
	}
	state := status.(*jetstream.KeyValueBucketStatus).StreamInfo().State
	return resourcesync.Stat{Count: -1, LastModified: state.LastTime, Version: fmt.Sprint(state.LastSeq)}, nil
}

// Watch implements [resourcesync.Watcher].
func (b Bucket) Watch(ctx context.Context, wake func()) error {
	watcher, err := b.kv.WatchAll(ctx, jetstream.UpdatesOnly())
	if err != nil {
		return err
	}
	defer watcher.Stop()
	wake() // there may have been a change before
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-watcher.Updates():
			if !ok {
				return errors.New("the bucket is no longer watched")
			}
			wake()
		}
	}
}

// Open implements [resourcesync.Opener].
func (b Bucket) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	entry, err := b.kv.Get(ctx, r.Key)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) || err == nil && b.resource(entry).Hashes[0] != r.Hashes[0] {
		return nil, fs.ErrNotExist // this version is gone
	}
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(entry.Value())), nil
}

//docs:end
