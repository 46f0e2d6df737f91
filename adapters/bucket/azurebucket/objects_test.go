package azurebucket_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/resourcesync-go/resourcesync/adapters/bucket/azurebucket"
)

// TestAnswers: errors in answers have one line, and the same text each time.
func TestAnswers(t *testing.T) {
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("x-ms-request-id", fmt.Sprint(n))
		w.Header().Set("x-ms-error-code", "AuthorizationFailure")
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	client, err := container.NewClientWithNoCredential(server.URL+"/papers", &container.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := (azurebucket.Objects{Client: client}).Head(t.Context(), "a"); err == nil || err.Error() != "Azure answered 403 AuthorizationFailure" {
			t.Errorf("%v", err)
		}
	}
}
