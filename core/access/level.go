package access

// Level is what a route demands of the credentials of a request.
type Level int

// The levels of access, each including those before it.
const (
	// LevelNone is everybody's, without credentials.
	LevelNone Level = iota
	// LevelRead reads.
	LevelRead
	// LevelRegister changes the instances of one's own applications: their
	// registrations, metadata and status. An override is among that, since
	// clients set and end their own status by it.
	LevelRegister
	// LevelAdmin changes those of every application, also as a peer.
	LevelAdmin
)
