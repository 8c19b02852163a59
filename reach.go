package attache

import "slices"

// ReachEntry names a context and the one entity that it is about here.
type ReachEntry struct {
	Context ContextID `json:"context"`
	Key     EntityKey `json:"entity,omitempty"` // "": no entity
}

// String gives "client@acme", or "client" without a key.
func (e ReachEntry) String() string {
	if e.Key == "" {
		return string(e.Context)
	}
	return string(e.Context) + "@" + string(e.Key)
}

// Reach is the contexts that a run reaches, decided once where the run starts and
// stored with it (text 1 § 2). Nil and empty are told apart where a person wrote it:
// nil leaves the reach to the layout of folders, empty reaches nothing.
type Reach []ReachEntry

// Has reports whether a context is in the reach, with whatever key.
func (r Reach) Has(id ContextID) bool {
	return slices.ContainsFunc(r, func(e ReachEntry) bool { return e.Context == id })
}

// Entity is a heartbeat, a hook or a scenario of a feature.
type Entity struct {
	Kind    string // heartbeat, hook or scenario
	ID      string // the file name, unique in its kind
	Feature FeatureID
	Folder  string // that its file stands in, from the brain's root
	Agent   RoleID
	Place   Place // where its runs post; the zero value for none
	Reach   Reach // as written; nil when the file names none
}

// Run is a turn as the work of an entity. It is stored with its turn, so fields are
// only added.
type Run struct {
	Kind    string    `json:"kind"` // of the entity
	ID      string    `json:"id"`
	Feature FeatureID `json:"feature,omitempty"` // "" for a scenario that belongs to none
	Reach   Reach     `json:"reach,omitempty"`
}

// String gives the mark of a run, "heartbeat:daily".
func (r Run) String() string { return r.Kind + ":" + r.ID }

// About says what a send is about, when it is not its run's whole reach (decisions
// § 2).
type About struct {
	Context ContextID `json:"context,omitempty"`
	Key     EntityKey `json:"entity,omitempty"`
}

// Origin is what a post remembers of why it was sent: what a reply to it brings
// back. It is stored with the post, so fields are only added.
type Origin struct {
	Run     string    `json:"run,omitempty"` // the mark of the run that sent it
	Feature FeatureID `json:"feature,omitempty"`
	Reach   Reach     `json:"reach,omitempty"` // with the keys that a reply attaches
	Lines   bool      `json:"lines,omitempty"` // an owner's own words from the chats page; kept at any age

	// Pinned is what the place was held to when it was said (Pin.String): under
	// another key the place's history does not show it (decisions § 3.14).
	Pinned string `json:"pinned,omitempty"`
}
