package transfer_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/resourcesync-go/resourcesync/internal/transfer"
)

// A Limiter admits one transfer to each client.
func Example() {
	limiter := transfer.NewLimiter(10, 1)
	r := httptest.NewRequest("GET", "/package.zip", nil)
	first, err := limiter.Admit(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = limiter.Admit(r)
	fmt.Println(err)
	first.End()
	_, err = limiter.Admit(r)
	fmt.Println(err)
	// Output:
	// too many transfers to one client are running
	// <nil>
}
