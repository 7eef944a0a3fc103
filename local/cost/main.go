// Command cost prints what the registry costs a month on AWS, as the README
// shows it: `make cost`. The database's part is what an hour of a fleet of 100
// consumed on an engine that counts as DynamoDB does (measured.json, by
// hour_test.go); prices are list prices with their date (prices.json).
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// prices are list prices in dollars, and what is assumed of Lambda.
type prices struct {
	Date, Region, Note                                string
	HoursAMonth                                       float64
	WriteUnit, ReadUnit                               float64
	LambdaRequest, LambdaGBSecond                     float64
	HTTPAPIRequest, RESTAPIRequest, CloudFrontRequest float64
	VPCEndpointHour, VPCEndpoints, VMHour, VMs        float64
	CloudMapInstanceMonth, CloudMapRequest            float64
	WriteGB, WriteSeconds, ReadGB, ReadSeconds        float64
	BackgroundGB, BackgroundSeconds                   float64
}

// units are capacity units, of an hour of the whole fleet.
type units struct {
	Read, Write float64
}

// measured is what an hour consumed, by what for.
type measured struct {
	Instances, Heartbeats, Containers float64
	// Renewals are the heartbeats' writes; Changes those of registrations,
	// cancels, their rows and tombstones; Views the containers' reads, each
	// whatever it is asked; Passes the eviction's scans and snapshots.
	Renewals, Changes, Views, Passes units
	// RenewalWrites is what heartbeats every 30 s cost in write units, by
	// REGISTRY_RENEWAL_WRITE_INTERVAL and by the processes that they go through.
	RenewalWrites []renewalWrites
}

// renewalWrites are the write units of the heartbeats of one instance in an hour.
type renewalWrites struct {
	Interval, Through string
	InstanceHour      float64
}

//go:embed prices.json
var pricesJSON []byte

//go:embed measured.json
var measuredJSON []byte

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	var p prices
	var m measured
	if err := decode(pricesJSON, &p); err != nil {
		return fmt.Errorf("prices.json: %w", err)
	}
	if err := decode(measuredJSON, &m); err != nil {
		return fmt.Errorf("measured.json: %w", err)
	}
	_, err := io.WriteString(out, table(p, m))
	return err
}

func decode(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// gateway is a way in, and what a request and a month of it cost.
type gateway struct {
	name    string
	request func(prices) float64
	month   func(prices) float64
}

func gateways() []gateway {
	none := func(prices) float64 { return 0 }
	return []gateway{
		{"HTTP API", func(p prices) float64 { return p.HTTPAPIRequest }, none},
		{"function URLs", none, none},
		{"private REST API", func(p prices) float64 { return p.RESTAPIRequest },
			func(p prices) float64 { return p.VPCEndpointHour * p.VPCEndpoints * p.HoursAMonth }},
	}
}

// table is the README's table: dollars a month, for one instance and for
// fleets. A client reads deltas as often as it sends heartbeats.
func table(p prices, m measured) string {
	var out bytes.Buffer
	fmt.Fprintf(&out, "| way in | heartbeats of an instance | its reads | the rest | 100 instances | 1,000 instances |\n|---|---|---|---|---|---|\n")
	for _, g := range gateways() {
		heartbeat, read := heartbeatsMonth(p, m, g), readsMonth(p, m, g.request(p)+invocation(p, p.ReadGB, p.ReadSeconds))
		row(&out, g.name, heartbeat, read, fixedMonth(p, m)+g.month(p))
	}
	http := gateways()[0]
	// Clients have one address for both, so heartbeats pass the edge too.
	edge := readsMonth(p, m, p.CloudFrontRequest)
	row(&out, "HTTP API behind CloudFront", heartbeatsMonth(p, m, http)+edge, edge, fixedMonth(p, m))
	cloudMap := p.CloudMapInstanceMonth
	row(&out, "AWS Cloud Map, as many requests", cloudMap, readsMonth(p, m, p.CloudMapRequest), 0)
	vms := p.VMHour * p.VMs * p.HoursAMonth
	fmt.Fprintf(&out, "| two t4g.small with Eureka, no load balancer | | | $%.2f | $%.2f | $%.2f |\n", vms, vms, vms)
	return out.String()
}

func row(out io.Writer, name string, heartbeats, reads, rest float64) {
	total := func(n float64) float64 { return n*(heartbeats+reads) + rest }
	fmt.Fprintf(out, "| %s | $%.3f | $%.3f | $%.2f | $%.2f | $%.2f |\n", name, heartbeats, reads, rest, total(100), total(1000))
}

func invocation(p prices, gb, seconds float64) float64 {
	return p.LambdaRequest + gb*seconds*p.LambdaGBSecond
}

func cost(p prices, u units) float64 { return u.Read*p.ReadUnit + u.Write*p.WriteUnit }

// requestsMonth is how many heartbeats an instance sends in a month.
func requestsMonth(p prices, m measured) float64 { return m.Heartbeats / m.Instances * p.HoursAMonth }

// heartbeatsMonth is what an instance's heartbeats and changes cost in a month.
func heartbeatsMonth(p prices, m measured, g gateway) float64 {
	database := (cost(p, m.Renewals) + cost(p, m.Changes)) / m.Instances * p.HoursAMonth
	return database + requestsMonth(p, m)*(g.request(p)+invocation(p, p.WriteGB, p.WriteSeconds))
}

// readsMonth is what an instance's reads cost in a month.
func readsMonth(p prices, m measured, request float64) float64 { return requestsMonth(p, m) * request }

// fixedMonth is what the views and the passes of a fleet of this size cost.
func fixedMonth(p prices, m measured) float64 {
	const passesAnHour = 60
	return p.HoursAMonth * (cost(p, m.Views) + cost(p, m.Passes) +
		passesAnHour*invocation(p, p.BackgroundGB, p.BackgroundSeconds))
}
