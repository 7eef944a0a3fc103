package dashboard

import (
	"time"

	"github.com/eurekaless/registry/core/delta"
)

// System is the registry's own state.
type System struct {
	// Uptime is that of this process or container.
	Uptime time.Duration
	// ViewAge is how old the lists are.
	ViewAge time.Duration
	// Faults say what is wrong with reading; none: healthy.
	Faults []string
	// Statistics are those of the last eviction pass; HasStatistics says that
	// there was one and that they could be read.
	Statistics    delta.Statistics
	HasStatistics bool
	// Regions are the other regions that this registry reads.
	Regions []Region
}

// Region is the state of another region's registry, as it is read here.
type Region struct {
	Name string
	// Present says that its instances are served.
	Present   bool
	Instances int
	// Fetched is when it last answered; zero: never.
	Fetched time.Time
}

// Status is the page of the registry's state.
type Status struct {
	Frame
	System System
}

// Recent is the page of the last registrations and cancellations.
type Recent struct {
	Frame
	delta.Recent
}
