package packages_test

import (
	"fmt"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/packages"
)

// The manifest of a package lists the path of each bitstream. A package has each URI once.
func Example() {
	c := packages.NewContents(false)
	r := resourcesync.Resource{Key: "a", URI: "https://example.org/a.txt", Length: resourcesync.Bytes(5)}
	path, err := c.AddResource(r)
	fmt.Println(path, err)
	_, err = c.AddResource(r)
	fmt.Println(c.Len(), err)
	// Output:
	// /resources/https/example.org/a.txt <nil>
	// 1 another resource in the package has the same URI
}
