// Package baseurl checks the public URLs that a host gives for its folders.
package baseurl

import (
	"fmt"
	"net/url"
	"strings"
)

// Parse parses the http or https URL of a folder, which has a host and a path only. It
// adds a slash to the end of the path if there is none.
func Parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%q must be absolute, like https://example.org/", text)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("%q must not have a query, a fragment or a user", text)
	case !strings.HasSuffix(u.Path, "/"):
		return u.JoinPath("/"), nil
	}
	return u, nil
}
