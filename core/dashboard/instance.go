package dashboard

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Action is a change that an administrator may make to an instance.
type Action struct {
	// Name is the parameter's value.
	Name string
	// Title is what its button says, Asks what is confirmed, Done what is said
	// afterwards.
	Title, Asks, Done string
}

// Names of the actions.
const (
	TakeOut        = "out"
	BringBack      = "back"
	RemoveOverride = "remove"
	Cancel         = "cancel"
)

var actions = []Action{
	{TakeOut, "Take out of service",
		"Readers will see OUT_OF_SERVICE and stop sending requests to it. It stays registered, and keeps this status until it is brought back.",
		"The instance is out of service. Lists show it with their next turn."},
	{BringBack, "Bring back",
		"Readers will see UP and send requests to it again.",
		"The instance is back: UP. Lists show it with their next turn."},
	{RemoveOverride, "Remove override",
		"Its status will be UNKNOWN until its next heartbeat, which makes it register anew with its own word.",
		"The override is removed. The instance tells its own status when it registers again."},
	{Cancel, "Cancel registration",
		"It will be removed from the registry. If it still runs, its next heartbeat makes it register again.",
		"The registration is cancelled. Lists show it with their next turn."},
}

// FindAction returns the action of a name.
func FindAction(name string) (Action, bool) {
	at := slices.IndexFunc(actions, func(a Action) bool { return a.Name == name })
	if at < 0 {
		return Action{}, false
	}
	return actions[at], true
}

// Field is a name and a value.
type Field struct{ Name, Value string }

// Moment is a time with its name; zero: never.
type Moment struct {
	Name string
	Time time.Time
}

// Details is the page of one instance.
type Details struct {
	Frame
	App, ID string
	Status  eureka.Status
	// Overridden is the administrator's status; empty: none.
	Overridden eureka.Status
	// Held says that its lease has expired and that its eviction is held back.
	Held bool
	// Ends is when its lease ends unless it renews; zero: not known.
	Ends     time.Time
	Links    []Link
	Fields   []Field
	Times    []Moment
	Metadata []Field
	Actions  []Action
	// Done says what an action did just before.
	Done string
}

// NewDetails returns the page of an instance as the table has it.
func NewDetails(f Frame, i *eureka.InstanceInfo, held Held) *Details {
	d := &Details{
		Frame: f, App: i.App, ID: i.ID(), Status: i.Status, Held: held.has(i),
		Links: links(
			Link{"home page", i.HomePageURL}, Link{"status page", i.StatusPageURL},
			Link{"health check", i.HealthCheckURL}, Link{"secure health check", i.SecureHealthCheckURL}),
		Fields: fields(i),
		Times: []Moment{
			{"renewed", i.Lease.LastRenewed}, {"registered", i.Lease.Registered}, {"up", i.Lease.ServiceUp},
			{"changed", i.LastUpdated}, {"changed by itself, by its own clock", i.LastDirty},
		},
		Metadata: sorted(i.Metadata),
	}
	if overridden(i) {
		d.Overridden = i.OverriddenStatus
	}
	if f.Admin {
		d.Actions = d.possible()
	}
	return d
}

// possible returns the actions that change something.
func (d *Details) possible() []Action {
	return slices.DeleteFunc(slices.Clone(actions), func(a Action) bool {
		switch a.Name {
		case TakeOut:
			return d.Status == eureka.OutOfService
		case BringBack:
			return d.Status == eureka.Up
		case RemoveOverride:
			return d.Overridden == ""
		}
		return false
	})
}

// fields returns what an instance says of itself and is not empty.
func fields(i *eureka.InstanceInfo) []Field {
	all := []Field{
		{"Host name", i.HostName}, {"IP address", i.IPAddr},
		{"Port", port(i.Port)}, {"Secure port", port(i.SecurePort)},
		{"VIP address", i.VIPAddress}, {"Secure VIP address", i.SecureVIPAddress},
		{"Zone", zone(i)}, {"Group", i.AppGroup}, {"Auto Scaling group", i.ASGName},
		{"Data centre", i.DataCenter.Name},
		{"Renews every", Span(i.Lease.RenewalInterval)}, {"Lease lasts", Span(i.Lease.Duration)},
		{"Home page", i.HomePageURL}, {"Status page", i.StatusPageURL},
		{"Health check", i.HealthCheckURL}, {"Secure health check", i.SecureHealthCheckURL},
	}
	return slices.DeleteFunc(all, func(f Field) bool { return f.Value == "" })
}

func port(p eureka.Port) string {
	if !p.Enabled {
		return ""
	}
	return strconv.Itoa(p.Number)
}

func sorted(values map[string]string) []Field {
	var out []Field
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, Field{name, values[name]})
	}
	return out
}

// Confirmation is the page that asks before an action.
type Confirmation struct {
	Frame
	App, ID string
	Status  eureka.Status
	Action  Action
}
