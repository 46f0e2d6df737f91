// Package azuretest gives tests containers in a server with the API of Azure Blob Storage.
package azuretest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	goblob "gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A Bucket is an empty container, which is deleted at the end of the test.
type Bucket struct {
	Client *container.Client
	Name   string
	URL    string // with which blob.OpenBucket opens it, with the environment of Environ
	Public string // the template of the URIs of objects

	account, key string
}

var numbers atomic.Int64

// New makes a container on the server of RESOURCESYNC_TEST_AZURE, a URL with the account as
// user and its key as password. The name of the account is also the first segment of
// paths, as with the emulator Azurite. Without the variable it skips the test, but never in
// CI.
func New(t testing.TB) *Bucket {
	t.Helper()
	server, err := url.Parse(needs.Variable(t, "RESOURCESYNC_TEST_AZURE"))
	if err != nil {
		t.Fatal(err)
	}
	b := &Bucket{Name: fmt.Sprintf("test-%d-%d-%d", os.Getpid(), numbers.Add(1), time.Now().UnixNano()), account: server.User.Username()}
	b.key, _ = server.User.Password()
	at := server.Scheme + "://" + server.Host + "/" + b.account + "/" + b.Name
	b.URL = "azblob://" + b.Name + "?" + url.Values{"protocol": {server.Scheme}, "domain": {server.Host}, "localemu": {"true"}}.Encode()
	b.Public = at + "/{key}"
	credential, err := container.NewSharedKeyCredential(b.account, b.key)
	if err != nil {
		t.Fatal(err)
	}
	if b.Client, err = container.NewClientWithSharedKeyCredential(at, credential, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Client.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := b.Client.Delete(context.WithoutCancel(t.Context()), nil); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Environ returns the credentials as variables for the environment of a process.
func (b *Bucket) Environ() []string {
	return []string{"AZURE_STORAGE_ACCOUNT=" + b.account, "AZURE_STORAGE_KEY=" + b.key}
}

// Open opens the container with the driver.
func (b *Bucket) Open(t testing.TB) *goblob.Bucket {
	t.Helper()
	opened, err := azureblob.OpenBucket(t.Context(), b.Client, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	return opened
}

// Publish lets everybody read the objects, but not list them.
func (b *Bucket) Publish(t testing.TB) {
	t.Helper()
	access := container.PublicAccessTypeBlob
	if _, err := b.Client.SetAccessPolicy(t.Context(), &container.SetAccessPolicyOptions{Access: &access}); err != nil {
		t.Fatal(err)
	}
}

// Unpublish takes Publish back.
func (b *Bucket) Unpublish(t testing.TB) {
	t.Helper()
	if _, err := b.Client.SetAccessPolicy(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// Put stores an object.
func (b *Bucket) Put(t testing.TB, key, content string) { b.PutMD5(t, key, content, nil) }

// PutMD5 stores an object, in blocks if it has more than 1 MiB, and states its MD5. The
// store does not verify the MD5 of an object in blocks.
func (b *Bucket) PutMD5(t testing.TB, key, content string, md5 []byte) {
	t.Helper()
	kind := "text/plain; charset=utf-8"
	_, err := b.Client.NewBlockBlobClient(key).UploadStream(t.Context(), strings.NewReader(content), &blockblob.UploadStreamOptions{
		BlockSize: 1 << 20, HTTPHeaders: &blob.HTTPHeaders{BlobContentType: &kind, BlobContentMD5: md5},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Delete deletes an object, if there is one.
func (b *Bucket) Delete(t testing.TB, key string) {
	t.Helper()
	if _, err := b.Client.NewBlobClient(key).Delete(t.Context(), nil); err != nil && !bloberror.HasCode(err, bloberror.BlobNotFound) {
		t.Fatal(err)
	}
}
