// Release writes those parts of a release that deploy/release has no program for: the image of
// a container, and the bill of materials.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

const usage = `usage:
  release image VERSION TIME PROGRAM...   write an OCI image of programs for Linux, one for each architecture
  release sbom VERSION PROGRAM...         write what the programs are made of, as CycloneDX

Both write to the standard output. TIME is in seconds since 1970.`

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	if len(args) < 3 {
		return fmt.Errorf("%d arguments\n%s", len(args), usage)
	}
	w := bufio.NewWriter(stdout)
	command, version, args := args[0], args[1], args[2:]
	var err error
	switch command {
	case "image":
		var seconds int64
		if seconds, err = strconv.ParseInt(args[0], 10, 64); err != nil {
			return err
		}
		err = writeImage(w, version, time.Unix(seconds, 0).UTC(), args[1:])
	case "sbom":
		err = writeSBOM(w, version, args)
	default:
		err = fmt.Errorf("no command %q\n%s", command, usage)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}
