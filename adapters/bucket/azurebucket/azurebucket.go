// Package azurebucket is for containers of Azure Blob Storage, which the driver azureblob
// opens.
package azurebucket

import (
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"

	"github.com/resourcesync-go/resourcesync/adapters/bucket"
)

// Store is the [bucket.Store] of containers of Azure Blob Storage.
type Store struct{}

var _ bucket.Store = Store{}

// ETag implements [bucket.Store].
func (Store) ETag(o *blob.ListObject) (etag, name string) {
	var item container.BlobItem
	if !o.As(&item) {
		return "", ""
	}
	if item.Properties != nil && item.Properties.ETag != nil {
		etag = `"` + strings.Trim(string(*item.Properties.ETag), `"`) + `"` // listings have no quotes
	}
	if item.Name != nil {
		name = *item.Name
	}
	return etag, name
}

// Reads implements [bucket.Store].
func (Store) Reads(name string) bool {
	const escaped = "\\\"#%?\x7f"
	return !strings.Contains(name, "../") && !strings.ContainsFunc(name, func(c rune) bool {
		return c < ' ' || strings.ContainsRune(escaped, c)
	})
}

// BeforeList implements [bucket.Store]. The client must have a [Transport], because the driver has
// no limit for a response.
func (Store) BeforeList(as func(any) bool) (token string) {
	var o *container.ListBlobsHierarchyOptions
	if as(&o) && o.Marker != nil {
		token = *o.Marker
	}
	return token
}

// BeforeRead implements [bucket.Store].
func (Store) BeforeRead(as func(any) bool, etag string) error {
	var o *azblob.DownloadStreamOptions
	if etag != "" && as(&o) {
		tag := azcore.ETag(etag)
		o.AccessConditions = &azblob.AccessConditions{ModifiedAccessConditions: &azblob.ModifiedAccessConditions{IfMatch: &tag}}
	}
	return nil
}

// MD5 implements [bucket.Store]. It returns nil: for an object that is uploaded in blocks,
// Azure stores whatever MD5 the client states.
func (Store) MD5(*blob.ListObject, string, http.Header) []byte { return nil }
