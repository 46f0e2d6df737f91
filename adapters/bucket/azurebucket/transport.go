package azurebucket

import (
	"fmt"
	"io"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/internal/webclient"
)

// Transport returns a transport for the options of a client of Azure, which limits the responses
// to requests of listings, and error messages, to [bucket.MaxListing] bytes. The client reads them
// into memory as a whole, however large they are, and has no limit itself. If next is nil,
// http.DefaultClient sends the requests. A Transport is safe for concurrent use if next is.
func Transport(next policy.Transporter) policy.Transporter {
	if next == nil {
		next = http.DefaultClient
	}
	return limited{next}
}

type limited struct{ next policy.Transporter }

var errLarge = fmt.Errorf("the response has more than %d bytes", bucket.MaxListing)

// Do implements [policy.Transporter].
func (l limited) Do(r *http.Request) (*http.Response, error) {
	res, err := l.next.Do(r)
	if err == nil && (r.URL.Query().Get("comp") == "list" || res.StatusCode >= http.StatusMultipleChoices) {
		res.Body = struct {
			io.Reader
			io.Closer
		}{webclient.Limit(res.Body, bucket.MaxListing, errLarge), res.Body}
	}
	return res, err
}
