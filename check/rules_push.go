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
