package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/operators"
)

// texts returns the texts of the errors that err joins, sorted and without duplicates. state is the
// place of the state.
func texts(state string, err error) []string {
	if err == nil {
		return nil
	}
	joined := parts(err)
	switch {
	case joined == nil && sqlite.ErrCode(err).ToPrimary() == sqlite.ResultFull: // one cause, of which each set has an error
		return []string{"the disk of the state " + state + " is full: make room"}
	case joined == nil:
		return []string{err.Error()}
	}
	var all []string
	for _, err := range joined {
		all = append(all, texts(state, err)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// health returns the errors that keep this process from publishing the sets and from
// sending notifications.
func (p *publication) health(ctx context.Context) error {
	var all []error
	for _, m := range p.members {
		all = append(all, m.health(ctx))
	}
	for _, pl := range p.places {
		all = append(all, pl.health(ctx))
	}
	if p.certificate != nil {
		all = append(all, p.certificate.Health())
	}
	err := errors.Join(append(all, p.source.Health(ctx))...)
	if errors.Is(err, sqlstore.ErrDamaged) {
		err = errors.Join(err, fmt.Errorf("%w: stop serve, then restore a copy of %s, or delete it and the files beside it whose names begin with its name; serve then reads all files again, and the listed changes and the subscriptions are lost", operators.ErrDamaged, p.state.Place))
	}
	return err
}

// health returns the errors because of which the set is not up to date.
func (m *Member) health(ctx context.Context) error {
	var all []error
	if m.Scanned != nil {
		all = append(all, m.Scanned.Health(ctx))
	}
	if m.Content.Health != nil {
		all = append(all, m.Content.Health())
	}
	return m.named(errors.Join(all...))
}

// named adds the name of the set, if it has one, to each error that err joins.
func (m *Member) named(err error) error {
	if err == nil || m.Name == "" {
		return err
	}
	joined := parts(err)
	if joined == nil {
		return fmt.Errorf("set %s: %w", m.Name, err)
	}
	var all []error
	for _, err := range joined {
		all = append(all, m.named(err))
	}
	return errors.Join(all...)
}

// parts returns the errors that err joins, each of which has a line, or nil if err is a single
// error. An error of fmt.Errorf that wraps several is a single one, too.
func parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	all := joined.Unwrap()
	if errors.Join(all...).Error() != err.Error() {
		return nil
	}
	return all
}
