// Package logtest is a test suite for the contract of [pushlog.Log]. It tests a log as two
// processes see it, because every rule must hold between processes.
package logtest

import (
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// A Subject is a store under test.
type Subject struct {
	// One and Other are the store as two processes see it. They are the same if only
	// one process can use the store. Background work that Watch needs must be running.
	One, Other pushlog.Log

	// Elapse makes the claims and notifications of the store older by d. If it is
	// nil, the suite sleeps instead, for a minute in all.
	Elapse func(d time.Duration)
}

// Test tests stores with a subtest for each rule. Each subtest calls open, which returns
// an empty store.
func Test(t *testing.T, open func(t *testing.T) Subject) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.check(newTrial(t, open(t)))
		})
	}
}

// A rule is one requirement of the contract.
type rule struct {
	name  string
	check func(t *trial)
}

// onLogs returns the check of a rule that needs only the log of two processes.
func onLogs(check func(t tb, one, other pushlog.Log)) func(*trial) {
	return func(t *trial) { check(t, t.one, t.other) }
}

var rules = []rule{
	{"State", onLogs(states)},
	{"Begin", onLogs(begins)},
	{"Begin/race", onLogs(beginsRace)},
	{"Append", onLogs(appends)},
	{"Append/keeps", onLogs(appendsExactly)},
	{"Append/moved", onLogs(appendsMoved)},
	{"Append/number", onLogs(appendsNumber)},
	{"Append/race", onLogs(appendsRace)},
	{"Topics", topics},
	{"Read", reads},
	{"HubCursor", onLogs(hubCursors)},
	{"SaveHubCursor", onLogs(savesHubCursor)},
	{"AllHubCursors", onLogs(hubCursorsInOrder)},
	{"Request", requests},
	{"Request/replaced", requestsReplaced},
	{"Request/limits", requestsLimited},
	{"Request/race", requestsRace},
	{"ClaimRequests", claimsRequests},
	{"ClaimRequests/fair", claimsRequestsFairly},
	{"ClaimRequests/race", claimsRequestsRace},
	{"ClaimRequests/end", claimsOfRequestsEnd},
	{"Apply/new", appliesNew},
	{"Apply/renewal", appliesRenewal},
	{"Apply/end", appliesEnd},
	{"Apply/expired", appliesExpired},
	{"Apply/stale", appliesStale},
	{"Apply/race", appliesRace},
	{"Apply/begin", appliesBegin},
	{"Drop", drops},
	{"Claim", claims},
	{"Claim/order", claimsInOrder},
	{"Claim/retry", claimsAfterRetry},
	{"Claim/race", claimsRace},
	{"Claim/end", claimsEnd},
	{"Save", saves},
	{"Save/renew", savesRenew},
	{"Save/lost", savesLost},
	{"Save/changed", savesChanged},
	{"Save/end", savesEnd},
	{"End", ends},
	{"Subscriptions", subscriptions},
	{"Expire/subscriptions", expiresSubscriptions},
	{"Expire/requests", expiresRequests},
	{"Clear/taken", onLogs(clearsTaken)},
	{"Clear/subscriptions", clearsTakenBySubscriptions},
	{"Clear/before", onLogs(clearsBefore)},
	{"Clear/dropped", clearsDropped},
	{"Clear/hubs", onLogs(clearsHubs)},
	{"Clear/topics", onLogs(clearsTopics)},
	{"Clear/subscribed", clearsNoSubscribedTopic},
	{"Clear/many", onLogs(clearsMany)},
	{"Lead", onLogs(leads)},
	{"Lead/end", onLogs(leadEnds)},
	{"Watch", onLogs(watchesAppends)},
	{"Watch/claims", watchesClaims},
	{"Watch/end", watchEnds},
}

// watchTimeout is the maximum wait for background work.
const watchTimeout = 20 * time.Second

// The topics and owners of the suite.
const (
	changes   = "https://example.org/resourcesync/papers/change/?x=ä"
	framework = "https://example.org/resourcesync/papers/framework/"
	ann       = "ann"
	bob       = "bob"
)
