package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// sizes are the fleets of the page.
var sizes = []float64{100, 1000, 10000}

// page writes the tables of README.md.
func page(w io.Writer, p *prices, m *measured) error {
	var out strings.Builder
	for _, n := range sizes {
		if err := fleetTable(&out, p, m, n); err != nil {
			return err
		}
	}
	backgroundTable(&out, p, m)
	extrasTable(&out, p)
	if err := advice(&out, p, m); err != nil {
		return err
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func dollars(v float64) string {
	if v < 100 {
		return fmt.Sprintf("$%.2f", v)
	}
	return fmt.Sprintf("$%.0f", v)
}

// fleetTable is a row an entry and a column a combination of billing and write
// interval.
func fleetTable(out *strings.Builder, p *prices, m *measured, instances float64) error {
	fmt.Fprintf(out, "### %s instances\n\n", thousands(instances))
	out.WriteString("| entry | on demand, every heartbeat written | on demand, every 75 s | provisioned, every heartbeat | provisioned, every 75 s |\n|---|---|---|---|---|\n")
	for _, e := range entries() {
		fmt.Fprintf(out, "| %s ", e.name)
		for _, f := range combinations(instances) {
			total, err := month(p, m, e, f)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "| %s ", dollars(total))
		}
		out.WriteString("|\n")
	}
	reference := dollars(referenceMonth(p))
	fmt.Fprintf(out, "| reference server on two t4g.small | %s | %s | %s | %s |\n\n", reference, reference, reference, reference)
	return nil
}

func combinations(instances float64) []fleet {
	return []fleet{{instances, false, always}, {instances, false, seldom}, {instances, true, always}, {instances, true, seldom}}
}

// backgroundTable is what grows with the fleet beside heartbeats and reads.
func backgroundTable(out *strings.Builder, p *prices, m *measured) {
	out.WriteString("### The rest: passes, views, changes\n\n| instances | read units an hour | write units an hour | $ a month |\n|---|---|---|---|\n")
	for _, h := range m.Hours {
		fmt.Fprintf(out, "| %s | %.0f | %.0f | %s |\n", thousands(h.Instances), h.Views.Read*readContainers(p, h.Instances)/h.Containers+h.Passes.Read, h.Passes.Write+h.Changes.Write,
			dollars(restMonth(p, fleet{instances: h.Instances}, h)))
	}
	fmt.Fprintf(out, "| 100,000, on the line through the two above | | | %s |\n\n", dollars(restOnTheLine(p, m, 100_000)))
}

func extrasTable(out *strings.Builder, p *prices) {
	a, hours := p.Assumed, p.HoursAMonth
	logs := hours * a.LogLinesAnHour * a.LogLineKB / 1e6 * p.CloudWatch.LogGB
	rows := []struct {
		what   string
		amount float64
		when   string
	}{
		{"alarms of the stack", a.Alarms * p.CloudWatch.Alarm, "`Alarms=true`"},
		{"alarms of auto scaling, and of its ceilings", a.ScalingAlarms * p.CloudWatch.Alarm, "`LeaseTableBilling=provisioned`"},
		{"alarms of `containers.yaml`", a.ContainerAlarms * p.CloudWatch.Alarm, "containers"},
		{"dashboard", p.CloudWatch.Dashboard, "`Alarms=true`"},
		{"metrics", a.Metrics * p.CloudWatch.Metric, "always; only those with values are billed"},
		{"metrics of `containers.yaml`", a.ContainerMetrics * p.CloudWatch.Metric, "containers: the view's age, and its copy for the alarm"},
		{"logs", logs, "always, at level `info`; access logs add 0.3 KB a request"},
		{"secret", p.SecretMonth, "with credentials"},
		{"NAT gateway", hours * p.Network.NATHour, "private clients of `http` or `url`; and " + fmt.Sprintf("$%.3f a GB", p.Network.NATGB)},
		{"three interface endpoints in two zones", hours * 6 * p.Network.EndpointHour, "tasks in private subnets without NAT: logs, secret, image; and " + dollars(p.Network.EndpointGB) + " a GB"},
		{"two public addresses", hours * 2 * p.Network.PublicAddressHour, "tasks or machines in public subnets, or an internet-facing `alb`"},
		{"CloudFront, for 1,000 instances", cloudFront(p, 1000), "`CloudFront=true`: all requests pass it"},
		{"AWS Cloud Map itself, for 1,000 instances", 1000*p.CloudMap.InstanceMonth + fleet{instances: 1000}.heartbeats(p)*p.CloudMap.Request, "for comparison: registered, and discovered every 30 s"},
	}
	out.WriteString("### What else is billed\n\n| | $ a month | when |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(out, "| %s | %s | %s |\n", r.what, dollars(r.amount), r.when)
	}
	out.WriteByte('\n')
}

// cloudFront is the requests and bytes that pass the edge.
func cloudFront(p *prices, instances float64) float64 {
	beats := fleet{instances: instances}.heartbeats(p)
	return 2*beats*p.CloudFront.Request + beats*(p.Assumed.HeartbeatKB+p.Assumed.ReadKB)/1e6*p.CloudFront.GB
}

// advice names the cheapest combination of each size, with two public
// addresses for containers.
func advice(out *strings.Builder, p *prices, m *measured) error {
	out.WriteString("### Recommendation\n\n| instances | cheapest on Lambda | cheapest of all |\n|---|---|---|\n")
	for _, n := range sizes {
		onLambda, all := choice{total: math.Inf(1)}, choice{total: math.Inf(1)}
		for _, e := range entries() {
			for _, f := range combinations(n) {
				total, err := month(p, m, e, f)
				if err != nil {
					return err
				}
				if strings.HasPrefix(e.name, "containers") {
					total += 2 * p.HoursAMonth * p.Network.PublicAddressHour
				} else {
					onLambda = onLambda.cheaper(choice{e, f, total})
				}
				all = all.cheaper(choice{e, f, total})
			}
		}
		fmt.Fprintf(out, "| %s | %s | %s |\n", thousands(n), onLambda, all)
	}
	return nil
}

// choice is a cell of the tables.
type choice struct {
	entry entry
	fleet fleet
	total float64
}

func (c choice) cheaper(other choice) choice {
	if other.total < c.total {
		return other
	}
	return c
}

func (c choice) String() string {
	billing := "on demand"
	if c.fleet.provisioned {
		billing = "provisioned"
	}
	return fmt.Sprintf("%s, %s, `RenewalWriteInterval=%s`: %s", c.entry.name, billing, map[string]string{always: "0s", seldom: "75s"}[c.fleet.writeInterval], dollars(c.total))
}

func thousands(n float64) string {
	s := fmt.Sprintf("%.0f", n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
