package static_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/static"
)

func ExampleWrite() {
	ctx := context.Background()
	papers := memory.New(nil)
	if err := papers.Put(ctx, resourcesync.Resource{Key: "1", URI: "https://example.org/papers/1"}); err != nil {
		log.Fatal(err)
	}
	out, err := os.MkdirTemp("", "site")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(out)

	//docs:begin write
	src, err := static.New("https://example.org/resourcesync/", []static.Set{{Provider: papers}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	report, err := static.Write(ctx, out, src, nil)
	if err != nil {
		log.Fatal(err)
	}
	//docs:end
	fmt.Printf("%q\n", slices.Sorted(slices.Values(report.Written)))
	report, err = static.Write(ctx, out, src, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("without a change:", len(report.Written))
	// Output:
	// [".well-known/resourcesync" "resourcesync/capabilitylist.xml" "resourcesync/changelist.xml" "resourcesync/resourcelist.xml"]
	// without a change: 0
}
