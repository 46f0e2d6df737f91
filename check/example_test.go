package check_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"

	"github.com/resourcesync-go/resourcesync/check"
)

// The first example of the specification lacks a link, and what Destinations need to see whether
// a resource has changed.
func ExampleCheck() {
	document := filepath.Join("..", "testdata", "core", "example-01.xml")
	report, err := check.Check(context.Background(), document, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range report.Findings {
		fmt.Printf("%d:%d %s, %s: %s (%s)\n", f.Line, f.Column, f.Harm, f.Force, f.Message, f.Section)
		fmt.Println(f.Remedy)
	}
	fmt.Println(report.OK())
	// Output:
	// 3:1 advice, must: the head has no link with the relation up (Core 10.1)
	// Add the link: to the Source Description in a Capability List, to the Capability List elsewhere.
	// 4:1 advice, none: 2 of 2 entries have no lastmod, hash or length (Core 10.1)
	// Add them to the entries of the Resource List.
	// false
}
