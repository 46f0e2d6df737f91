package engine

import "strings"

// Signs show whether triggers and database are still the same as before.
type Signs struct {
	Triggers []Trigger
	Schema   int64 // a version of all definitions in the database, which moves without harm; 0 if there is none

	// Added are parts of the table that triggers must allow for: a new part may have
	// hidden changes from them.
	Added []string

	// History has the signs of the history of the database, by their names.
	History map[string]string
}

// A Trigger is a trigger, or another object that our statements make.
type Trigger struct {
	Name  string
	State string // it differs after the trigger was altered, disabled or made again
	Stamp string // the one in its text; "" if there is none
	Part  bool   // it follows from another trigger, or is not a trigger
	On    bool   // it is enabled for all sessions
	Born  bool   // it is a part, and its table had it before anything could be written there
}

// stampMark begins the line with the stamp in a text of ours.
const stampMark = "-- stamp: "

// StampLine returns the line for a stamp in the text of a trigger or function.
func StampLine(stamp string) string { return stampMark + stamp }

// StampIn returns the stamp in a text, or "".
func StampIn(text string) string {
	_, line, _ := strings.Cut(text, stampMark)
	line, _, _ = strings.Cut(line, "\n")
	return line
}

// Timeline is the name of a sign that moves when a replica takes over, too. That is a new
// history only if the replica lacked changes.
const Timeline = "timeline"

// TableNumber is the name of the sign that is the number of the table in its catalog.
const TableNumber = "table"
