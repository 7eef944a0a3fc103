package replay

// deviation is where the right answer is not what the recorded server
// answered.
type deviation struct {
	// status and contentType replace the recorded ones; where a status is
	// replaced, the body is not compared.
	status      int
	contentType string
	// instance replaces fields of the recorded instance.
	instance map[string]any
	// anything says that no answer is wrong.
	anything bool
	reason   string
}

// deviations by the name of the exchange, each with its reason.
var deviations = map[string]deviation{
	"register: unknown fields": {status: 204, reason: "a newer client's extra fields must not lock it out"},
	"read: unknown fields":     {status: 200, reason: "it was registered"},
	"renew: dirty timestamp is not a number": {
		status: 400, reason: "the request is wrong, not the server"},
	"status: a value that no status has":  {status: 400, reason: "the request is wrong, not the server"},
	"removed: a value that no status has": {status: 400, reason: "the request is wrong, not the server"},
	"status: no value":                    {status: 400, reason: "the request is wrong, not the server"},
	"read: all, JSON among others": {
		contentType: "application/json", reason: "the type must say what the body is"},
	"peers: status page": {status: 200, reason: "the recorded server fails on its own page"},
	"rules: registers out of service after up, as seen": {
		instance: map[string]any{"status": "OUT_OF_SERVICE"},
		reason:   "without an override, an instance's own word on its status counts"},
	"rules: registers up after out of service, as seen": {
		instance: map[string]any{"status": "UP"},
		reason:   "without an override, an instance's own word on its status counts"},
	"peers: status overrides": {anything: true, reason: "an old page that the recorded server does not serve"},
}

// The instance that "register: unknown fields" registers here and not on the
// recorded server: later reads have it besides.
const (
	extraName = "register: unknown fields"
	extraApp  = "PLAIN"
	extraID   = "plain-7"
)
