// Package azurebucket supports containers of Azure Blob Storage that the driver azureblob
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

// Service is the [bucket.Service] of containers of Azure Blob Storage.
type Service struct{}

var _ bucket.Service = Service{}

// ETag implements [bucket.Service].
func (Service) ETag(o *blob.ListObject) (etag, name string) {
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

// Reads implements [bucket.Service].
func (Service) Reads(name string) bool {
	const escaped = "\\\"#%?\x7f"
	return !strings.Contains(name, "../") && !strings.ContainsFunc(name, func(c rune) bool {
		return c < ' ' || strings.ContainsRune(escaped, c)
	})
}

// BeforeList implements [bucket.Service]. The client must have a [Transport], because the driver has
// no limit for a response.
func (Service) BeforeList(as func(any) bool) (token string) {
	var o *container.ListBlobsHierarchyOptions
	if as(&o) && o.Marker != nil {
		token = *o.Marker
	}
	return token
}

// BeforeRead implements [bucket.Service].
func (Service) BeforeRead(as func(any) bool, etag string) error {
	var o *azblob.DownloadStreamOptions
	if etag != "" && as(&o) {
		tag := azcore.ETag(etag)
		o.AccessConditions = &azblob.AccessConditions{ModifiedAccessConditions: &azblob.ModifiedAccessConditions{IfMatch: &tag}}
	}
	return nil
}

// MD5 implements [bucket.Service]. It returns nil: for an object that is uploaded in blocks,
// Azure stores any MD5 that the client states.
func (Service) MD5(*blob.ListObject, string, http.Header) []byte { return nil }
