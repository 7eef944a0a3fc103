package main

// month is what a fleet costs a month through an entry, in dollars, without
// observability and without what its network may need.
func month(p *prices, m *measured, e entry, f fleet) (float64, error) {
	anHour, err := m.writesAnHour(f.writeInterval, e.processes(p, f))
	if err != nil {
		return 0, err
	}
	h, err := m.hour(f.instances)
	if err != nil {
		return 0, err
	}
	writes := f.instances * anHour * p.HoursAMonth
	return e.month(p, f, writes) + renewalsMonth(p, f, writes) + restMonth(p, f, h), nil
}

// renewalsMonth is the write units of the heartbeats. Provisioned capacity is
// billed by the hour whatever is used of it: the average over the target.
func renewalsMonth(p *prices, f fleet, writes float64) float64 {
	if !f.provisioned {
		return writes * p.DynamoDB.WriteUnit
	}
	aSecond := writes / p.HoursAMonth / 3600
	return max(1, aSecond/p.Assumed.Utilization) * p.DynamoDB.WriteCapacityHour * p.HoursAMonth
}

// restMonth is what comes with the registry whatever the entry: the views'
// reads, the passes, the changes, and the functions that do this work.
func restMonth(p *prices, f fleet, h fleetHour) float64 {
	a := p.Assumed
	evictSeconds := a.EvictSeconds + a.EvictSecondsPer1000*f.instances/1000
	hour := h.Views.Read*readContainers(p, f.instances)/h.Containers*p.DynamoDB.ReadUnit + h.Changes.Write*p.DynamoDB.WriteUnit + h.Passes.Write*p.DynamoDB.WriteUnit +
		60*p.lambdaInvocation(a.EvictGB, evictSeconds) +
		h.Changes.Write*p.lambdaInvocation(a.StreamGB, a.StreamSeconds)
	if !f.provisioned {
		return p.HoursAMonth * (hour + h.Passes.Read*p.DynamoDB.ReadUnit)
	}
	// A pass's scan is paced over its minute.
	aSecond := h.Passes.Read / 3600
	return p.HoursAMonth * (hour + max(1, aSecond*a.ReadHeadroom/a.Utilization)*p.DynamoDB.ReadCapacityHour)
}

// restOnTheLine is restMonth of a fleet that is too large to measure: on the
// line through the two largest that were, since a part is the same for any fleet.
func restOnTheLine(p *prices, m *measured, instances float64) float64 {
	small, large := m.Hours[len(m.Hours)-2], m.Hours[len(m.Hours)-1]
	month := func(h fleetHour) float64 { return restMonth(p, fleet{instances: h.Instances}, h) }
	slope := (month(large) - month(small)) / (large.Instances - small.Instances)
	return month(large) + slope*(instances-large.Instances)
}

// referenceMonth is two virtual machines with the reference server, which
// keeps everything in memory.
func referenceMonth(p *prices) float64 { return 2 * machine(p, p.EC2.T4gSmallHour) }
