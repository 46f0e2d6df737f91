package oaipmh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/retry"
	"github.com/resourcesync-go/resourcesync/internal/webclient"
)

const (
	// attempts is the number of attempts to read a response whose end is missing or
	// whose XML is broken. The client repeats requests that fail earlier.
	attempts = 3

	// responseTime is the maximum time for one response, including that to store its
	// records.
	responseTime = time.Hour
)

// A storeError is an error of the store while a response was read.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

var errSlow = fmt.Errorf("took more than %v to send a response", responseTime)

// An each takes the records of a response.
type each func(record) error

// none takes no records.
func none() each { return func(record) error { return nil } }

// get requests uri, and passes the records in the response to the function that begin returns.
// If the response breaks off, get begins again. Errors of the protocol are in the response.
func (r *Repository) get(ctx context.Context, uri string, begin func() each) (*response, error) {
	wait := retry.Policy{First: 2 * time.Second, Max: time.Minute}
	for failures := 1; ; failures++ {
		res, err := r.getOnce(ctx, uri, begin())
		var store storeError
		switch {
		case err == nil:
			return res, nil
		case errors.As(err, &store):
			return nil, store.error
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case failures == attempts || !isBroken(err):
			return nil, fmt.Errorf("oaipmh: %w", webclient.Explain(err, "the repository "+r.given, "start it, or correct its address"))
		}
		r.log.Debug("response broken; requesting it again", "url", uri, "error", err)
		if err := background.Sleep(ctx, wait.Wait(failures, 0)); err != nil {
			return nil, err
		}
	}
}

// checkAddress is the remedy if there is no repository at the address.
const checkAddress = "check the address, which ends in /oai, /oai/request or the like in most repositories"

// A brokenError is a response that cannot be read completely.
type brokenError struct {
	uri string
	err error
}

func (e *brokenError) Error() string { return e.uri + " " + e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// isBroken reports whether the same request may have a better response.
func isBroken(err error) bool {
	broken, ok := errors.AsType[*brokenError](err)
	return ok && !errors.Is(broken, fetch.ErrLong) && !errors.Is(broken, errLongToken)
}

func (r *Repository) getOnce(ctx context.Context, uri string, each each) (*response, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, responseTime, errSlow)
	defer cancel()
	store := func(rec record) error {
		if err := each(rec); err != nil {
			return storeError{err}
		}
		return nil
	}
	d, err := r.client.Document(ctx, uri, fetch.Validators{})
	if failed, ok := errors.AsType[*fetch.StatusError](err); ok && failed.Status/100 == 4 {
		// Some repositories answer 404 or 422 with errors of the protocol.
		if res, e := parse(bytes.NewReader(failed.Body), r.wants, store); e == nil && len(res.errors) > 0 {
			return res, nil
		}
		if failed.Status == http.StatusNotFound && strings.Contains(uri, "verb=Identify") {
			return nil, fmt.Errorf("%w: %s", err, checkAddress)
		}
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	res, err := parse(d, r.wants, store)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if errors.Is(err, errNoOAI) && res.date == "" {
		return nil, fmt.Errorf("%s %w: %s", uri, err, checkAddress)
	}
	if err != nil {
		return nil, &brokenError{uri, err}
	}
	return res, nil
}

// has reports whether a response has an error of the protocol with this code.
func (res *response) has(code string) bool {
	return slices.ContainsFunc(res.errors, func(e protocolError) bool { return e.code == code })
}

// refusal returns the error for a response with errors of the protocol, with a remedy.
func (r *Repository) refusal(ctx context.Context, res *response) error {
	texts := make([]string, len(res.errors))
	for i, e := range res.errors {
		texts[i] = e.Error()
	}
	err := fmt.Errorf("oaipmh: the repository refuses the request: %.1000s", strings.Join(texts, "; "))
	switch {
	case res.has("cannotDisseminateFormat"):
		formats, e := r.get(ctx, r.request("verb", "ListMetadataFormats"), none)
		if e == nil && len(formats.formats) > 0 {
			err = fmt.Errorf("%w; its metadata prefixes are %.1000s", err, strings.Join(formats.formats, ", "))
		}
	case res.has("noSetHierarchy"):
		err = fmt.Errorf("%w; it has no sets, so leave out %q", err, r.options.Set)
	}
	return err
}
