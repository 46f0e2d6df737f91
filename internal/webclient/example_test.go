package webclient_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/webclient"
)

// A text that is longer than its limit.
func ExampleText() {
	text, err := webclient.Text(strings.NewReader("a sitemap"), 4, errors.New("too long"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = io.ReadAll(text)
	fmt.Println(err)
	// Output: too long
}
