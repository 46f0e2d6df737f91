package check

// Sentences about the links of topics, which both notification specifications have.
const (
	topicSays = `must have an HTTP "200 OK" response code, an HTTP Content-Type header with a value of application/xml, and an HTTP Link header`
	hubSays   = "A mandatory link with the hub relation type that provides the hub URI as the value of the href attribute."
	selfSays  = "A mandatory link with the self relation type that provides the topic URI for the submitted notification as the value of the href attribute."
)

// pushRules are rules of topics and hubs.
var pushRules = []Rule{
	{
		ID: "hub-missing", Harm: Error,
		Sentences: says(Must, "That <rs:ln> must have hub as the value of the rel attribute and the hub URI as the value of the href attribute.", "Change Notification 5", "Framework Notification 5"),
		Text:      `The entry of a topic in the Capability List links to a hub with rel="hub".`, Remedy: "Add the link.",
	}, {
		ID: "topic-unreachable", Harm: Error, Sentences: says(Must, topicSays, "Change Notification 4.1", "Framework Notification 4.1"),
		Text: "A topic answers with 200.", Remedy: "Serve the latest notification, or an empty body.",
	}, {
		ID: "topic-hub", Harm: Error, Sentences: says(Must, hubSays, "Change Notification 4.1", "Framework Notification 4.1"),
		Text: `The Link header of a topic has a link with rel="hub" to the hub of the Capability List.`, Remedy: `Send Link: <hub>; rel="hub".`,
	}, {
		ID: "topic-self", Harm: Error, Sentences: says(Must, selfSays, "Change Notification 4.1", "Framework Notification 4.1"),
		Text: `The Link header of a topic has a link with rel="self" to the topic.`, Remedy: `Send Link: <topic>; rel="self".`,
	}, {
		ID: "topic-type", Harm: Warning, Sentences: says(Must, topicSays, "Change Notification 4.1", "Framework Notification 4.1"),
		Text: "A topic has the media type application/xml.", Remedy: "Send Content-Type: application/xml.",
	}, {
		ID: "notification-overlap", Harm: Error,
		Sentences: says(Must, "Consecutive change notifications sent by the Source must cover consecutive and non-overlapping temporal from/until intervals.", "Change Notification 3"),
		Text:      "A Change Notification begins where the one before ends.", Remedy: "Use the until of the last notification as from of the next.",
	}, {
		ID: "notification-change", Harm: Warning, Sentences: says(Must, "", "Framework Notification 2.1"),
		Text:   "A Framework Notification reports the changes of table 2: only Capability Lists and Source Descriptions are deleted, and Resource Dumps are only created.",
		Remedy: "Report the change of the Capability List instead.",
	}, {
		ID: "notification-index-missing", Harm: Warning, Sentences: []Sentence{
			{"Framework Notification 3", Must, "If the changed document resides under an index, a child element <rs:ln> with the relation type index must point to the index."},
			{"Notification 0.8 5", Must, "it must provide a <rs:ln> child element to the <url> element in which that change is communicated."},
		},
		Text: `The entry of a document below an index links to the index with rel="index".`, Remedy: "Add the link: a notification names one of several documents that have changed.",
	}, {
		ID: "notification-parts", Harm: Advice, Sentences: []Sentence{
			{"Framework Notification 2", Must, "a framework notification is sent only about the creation of one of the Resource Lists, not about the Resource List Index that contains them."},
			{"Notification 0.8 5", Must, "framework notifications are never sent at the index level."},
		},
		Text: "A Framework Notification announces one of several new parts of an index, and never the index.", Remedy: "Announce one part, with a link to its index.",
	}, {
		ID: "topic-shared", Harm: Warning, Sentences: []Sentence{
			{"Change Notification 2", Must, "a dedicated Change Notification channel must be provided for each distinct set of resources for which Change Notification is supported."},
			{"Framework Notification 2", Must, "A dedicated Framework Notification channel must be provided for each set of resources for which Framework Notification is supported."},
		},
		Text: "Each topic has one entry in all Capability Lists.", Remedy: "Use a separate topic for each set and each of the two kinds of notification.",
	}, {
		ID: "hub-unreachable", Harm: Error, Sentences: says(Must, "", "WebSub 5.1"),
		Text: "A hub answers to a subscription request, with an error if it is incomplete.", Remedy: "Check the URL of the hub, and that it accepts POST.",
	}, {
		ID: "hub-subscription", Harm: Error, Sentences: says(Must, "", "WebSub 5.1"),
		Text: "A hub accepts a subscription, and its end, with 202.", Remedy: "Check that the hub knows the topic, and may request the callback.",
	}, {
		ID: "hub-verification", Harm: Error, Sentences: says(Must, "", "WebSub 5.3"),
		Text: "A hub verifies a request with hub.mode, hub.topic, hub.challenge and hub.lease_seconds.", Remedy: "Check that the hub can reach the callback, and what it sends there.",
	}, {
		ID: "hub-careless", Harm: Warning, Sentences: says(Must, "", "WebSub 5.1"),
		Text: "A hub refuses a subscription without a callback.", Remedy: "Answer with a 4xx status.",
	}, {
		ID: "websocket-unreachable", Harm: Error, Sentences: says(Must, "", "Notification 0.8 6"),
		Text: "A WebSocket that is listed opens.", Remedy: "Check the URL, and that every proxy before the server passes the header Upgrade on.",
	},
}
