package eureka

// Status is the state of an instance as the protocol spells it.
type Status string

// The statuses of the protocol. Every other text is read as [Unknown], as the
// stock server reads it.
const (
	Up           Status = "UP"
	Down         Status = "DOWN"
	Starting     Status = "STARTING"
	OutOfService Status = "OUT_OF_SERVICE"
	Unknown      Status = "UNKNOWN"
)

// ParseStatus returns the status named by text and whether the protocol has
// it. The empty text is not a status.
func ParseStatus(text string) (Status, bool) {
	switch s := Status(text); s {
	case Up, Down, Starting, OutOfService, Unknown:
		return s, true
	}
	return Unknown, false
}

// ActionType says what happened to an instance, as a delta reports it.
type ActionType string

// The action types of the protocol. A registration and a change of metadata
// are [Added], a change of status is [Modified], as on the stock server.
const (
	Added    ActionType = "ADDED"
	Modified ActionType = "MODIFIED"
	Deleted  ActionType = "DELETED"
)
