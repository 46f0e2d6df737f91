package bucket_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/s3blob"

	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/azurebucket"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestEndlessListing has stores whose listings have no end. A scan notices that, and deletes nothing.
func TestEndlessListing(t *testing.T) {
	needs.Time(t)
	for store, tt := range map[string]struct {
		publish func(t *testing.T, endpoint string) *published
		write   func(keys []string, token string) string
	}{
		"S3":    {publishEndpoint, listingOfS3},
		"Azure": {publishAzureEndpoint, listingOfAzure},
	} {
		for name, page := range map[string]func(n int) (keys []string, token string){
			"the same token":                 func(n int) ([]string, string) { return []string{fmt.Sprintf("%06d", n)}, "same" },
			"the same token, nothing listed": func(int) ([]string, string) { return nil, "same" },
			"new tokens, the same object":    func(n int) ([]string, string) { return []string{"a"}, fmt.Sprint("t", n) },
			"a long circle": func(n int) ([]string, string) {
				return []string{fmt.Sprintf("%03d", n%90)}, fmt.Sprint("t", n)
			},
		} {
			t.Run(store+", "+name, func(t *testing.T) {
				requests := 0
				endless := false
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					requests++
					w.Header().Set("Content-Type", "application/xml")
					switch {
					case !endless:
						fmt.Fprint(w, tt.write([]string{"a", "b", "c", "d", "e"}, ""))
					case requests > 3000:
						t.Error("the listing does not end")
						http.Error(w, "", http.StatusForbidden)
					default:
						fmt.Fprint(w, tt.write(page(requests)))
					}
				}))
				defer server.Close()
				p := tt.publish(t, server.URL)
				if _, err := p.set.Scan(t.Context(), p.Resources(t.Context())); err != nil {
					t.Fatal(err)
				}
				endless, requests = true, 0
				result, err := p.set.Scan(t.Context(), p.Resources(t.Context()))
				if err == nil || !strings.Contains(err.Error(), "without end") || result.Deleted > 0 {
					t.Errorf("after %d requests: %+v, %v", requests, result, err)
				}
				for _, key := range []string{"a", "e"} {
					if _, found, err := p.set.Get(t.Context(), key); err != nil || !found {
						t.Errorf("%s is not listed: %v", key, err)
					}
				}
			})
		}
	}
}

// listingOfS3 returns a page of a listing of S3. If token is not empty, another page follows.
func listingOfS3(keys []string, token string) string {
	text := "<ListBucketResult>"
	if token != "" {
		text += "<IsTruncated>true</IsTruncated><NextContinuationToken>" + token + "</NextContinuationToken>"
	}
	for _, key := range keys {
		text += "<Contents><Key>" + key + "</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>1</Size></Contents>"
	}
	return text + "</ListBucketResult>"
}

// listingOfAzure is listingOfS3 of Azure.
func listingOfAzure(keys []string, token string) string {
	text := `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>`
	for _, key := range keys {
		text += "<Blob><Name>" + key + `</Name><Properties><Last-Modified>Thu, 01 Jan 2026 00:00:00 GMT</Last-Modified><Etag>0x1</Etag><Content-Length>1</Content-Length><BlobType>BlockBlob</BlobType></Properties></Blob>`
	}
	return text + "</Blobs><NextMarker>" + token + "</NextMarker></EnumerationResults>"
}

// TestLargeListing has stores whose response to a request of a listing has no end.
func TestLargeListing(t *testing.T) {
	needs.Time(t)
	for name, tt := range map[string]struct {
		begin   string
		publish func(t *testing.T, endpoint string) *published
	}{
		"S3":    {`<ListBucketResult><Name>`, publishEndpoint},
		"Azure": {`<EnumerationResults><Prefix>`, publishAzureEndpoint},
	} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if sent.Load() > 0 {
					http.Error(w, "once is enough", http.StatusForbidden)
					return
				}
				w.Header().Set("Content-Type", "application/xml")
				fmt.Fprint(w, tt.begin)
				for text := strings.Repeat("a", 1<<20); sent.Load() < 600<<20; sent.Add(1 << 20) {
					if _, err := io.WriteString(w, text); err != nil {
						return
					}
				}
			}))
			defer server.Close()
			p := tt.publish(t, server.URL)
			if _, err := p.set.Scan(t.Context(), p.Resources(t.Context())); err == nil {
				t.Error("the listing is read")
			}
			if n := sent.Load(); n > 2*bucket.MaxListing {
				t.Errorf("%d bytes were read", n)
			}
		})
	}
}

// publishAzureEndpoint publishes a container whose store is at a URL.
func publishAzureEndpoint(t *testing.T, endpoint string) *published {
	t.Helper()
	client, err := container.NewClientWithNoCredential(endpoint+"/account/container", &container.ClientOptions{
		ClientOptions: policy.ClientOptions{Transport: azurebucket.Transport(nil)},
	})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := azureblob.OpenBucket(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	return publish(t, opened, "https://example.org/{key}", bucket.Options{Service: azurebucket.Service{}, Private: true})
}

// publishEndpoint publishes a bucket whose store is at a URL.
func publishEndpoint(t *testing.T, endpoint string) *published {
	t.Helper()
	client := s3.New(s3.Options{
		Region: "test", BaseEndpoint: aws.String(endpoint), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})
	opened, err := s3blob.OpenBucket(t.Context(), client, "bucket", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	return publish(t, opened, "https://example.org/{key}", bucket.Options{Service: s3bucket.Service{}, Private: true})
}
