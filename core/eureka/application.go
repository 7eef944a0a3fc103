package eureka

// Application is all instances of one application.
type Application struct {
	// Name is upper case.
	Name      string
	Instances []*InstanceInfo
}

// Applications is a registry or a part of it, as an answer carries it.
type Applications struct {
	// Version is versions__delta. Clients only look at its sign: -1 in a
	// delta means "not supported, fetch everything".
	Version int64
	// HashCode is apps__hashcode; see [HashCode].
	HashCode string
	// Applications holds no application without instances.
	Applications []Application
}
