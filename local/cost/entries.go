package main

// fleet is what one cell of the page is about.
type fleet struct {
	instances float64
	// provisioned: the lease table's capacity is provisioned and auto-scaled.
	provisioned bool
	// writeInterval is REGISTRY_RENEWAL_WRITE_INTERVAL.
	writeInterval string
}

// heartbeats are those of a month; clients read deltas as often.
func (f fleet) heartbeats(p *prices) float64 { return f.instances * readsAnHour * p.HoursAMonth }

// entry is a way in: what a month of it costs besides the database, which
// shares the heartbeats, and how full answers are billed.
type entry struct {
	name string
	// processes names how the heartbeats are shared, for measured.writesAnHour.
	processes func(*prices, fleet) string
	// month is requests, compute and what is there all the time.
	month func(p *prices, f fleet, writes float64) float64
}

func entries() []entry {
	lambda := func(p *prices, f fleet) string { return writeContainers(p, f.instances) }
	containers := func(*prices, fleet) string { return "two containers" }
	return []entry{
		{"`http`", lambda, func(p *prices, f fleet, writes float64) float64 {
			return functions(p, f, writes, p.Assumed.WriteGB) + httpAPI(p, f)
		}},
		{"`url`", lambda, func(p *prices, f fleet, writes float64) float64 {
			return functions(p, f, writes, p.Assumed.APIGB)
		}},
		{"`alb`, clients keep connections", lambda, func(p *prices, f fleet, writes float64) float64 {
			return functions(p, f, writes, p.Assumed.WriteGB) + loadBalancer(p, f, true)
		}},
		{"`alb`, a connection a request", lambda, func(p *prices, f fleet, writes float64) float64 {
			return functions(p, f, writes, p.Assumed.WriteGB) + loadBalancer(p, f, false)
		}},
		{"containers: two Fargate tasks", containers, func(p *prices, f fleet, _ float64) float64 {
			return 2*fargate(p, f) + containersDNS(p)
		}},
		{"containers: two Fargate Spot tasks", containers, func(p *prices, f fleet, _ float64) float64 {
			return 2*fargate(p, f)*p.Fargate.SpotShare + containersDNS(p)
		}},
		{"containers: two t4g.nano", containers, func(p *prices, _ fleet, _ float64) float64 {
			return 2 * machine(p, p.EC2.T4gNanoHour)
		}},
	}
}

// functions is the invocations of a month: heartbeats, of which writes were
// written, in a function of this many GB, and delta reads.
func functions(p *prices, f fleet, writes, writeGB float64) float64 {
	a := p.Assumed
	beats := f.heartbeats(p)
	unwritten := beats - writes
	return writes*p.lambdaInvocation(writeGB, a.WriteSeconds) +
		unwritten*p.lambdaInvocation(writeGB, a.WriteFromMemorySeconds) +
		beats*p.lambdaInvocation(a.ReadGB, a.ReadSeconds)
}

// httpAPI is the requests of a month, each full read in increments.
func httpAPI(p *prices, f fleet) float64 {
	a, api := p.Assumed, p.HTTPAPI
	fullReads := f.instances * a.FullReadsPerInstanceHour * p.HoursAMonth
	increments := fullReads * (a.FullReadKBPer1000 * f.instances / 1000) / api.IncrementKB
	requests := 2*f.heartbeats(p) + fullReads + increments
	first := min(requests, api.FirstTierRequests)
	return first*api.Request + (requests-first)*api.SecondTierRequest
}

func loadBalancer(p *prices, f fleet, keepAlive bool) float64 {
	return p.HoursAMonth * (p.LoadBalancer.Hour + p.LoadBalancer.CapacityUnitHour*loadBalancerUnits(p, f.instances, keepAlive))
}

// fargate is a task of the size that infra/containers.yaml advises: small up
// to 5,000 instances, medium beyond.
func fargate(p *prices, f fleet) float64 {
	vcpu, gb := 0.25, 0.5
	if f.instances > 5000 {
		vcpu, gb = 0.5, 1
	}
	return p.HoursAMonth * (vcpu*p.Fargate.VCPUHour + gb*p.Fargate.GBHour)
}

// containersDNS is the private zone with the tasks' names.
func containersDNS(p *prices) float64 { return p.HostedZoneMonth + 2*p.CloudMap.InstanceMonth }

// machine is one virtual machine with its volume and no public address.
func machine(p *prices, hour float64) float64 {
	return p.HoursAMonth*hour + p.EC2.VolumeGB*p.EC2.VolumeGBMonth
}
