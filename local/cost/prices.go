package main

// prices are list prices in US dollars without free tiers, and what the
// calculation assumes where nothing could be measured. See prices.json.
type prices struct {
	Date, Region string
	HoursAMonth  float64

	DynamoDB struct {
		// WriteUnit and ReadUnit are on demand, a capacity unit each. The
		// others are provisioned, a unit a second for an hour.
		WriteUnit, ReadUnit, WriteCapacityHour, ReadCapacityHour float64
	}
	Lambda  struct{ Request, GBSecond float64 }
	HTTPAPI struct {
		Request, SecondTierRequest, FirstTierRequests float64
		// IncrementKB: each such part of a request and its response is billed
		// as a request.
		IncrementKB float64
	}
	CloudFront   struct{ Request, GB float64 }
	LoadBalancer struct {
		Hour, CapacityUnitHour float64
		// What one capacity unit holds: new connections a second, active
		// connections, gigabytes an hour of a Lambda target. The dimension
		// that needs most units is billed.
		NewConnections, ActiveConnections, LambdaGB, RuleEvaluations float64
	}
	Fargate struct {
		VCPUHour, GBHour float64
		// SpotShare is the usual price of Spot as a share of the list price.
		SpotShare float64
	}
	EC2        struct{ T4gNanoHour, T4gSmallHour, VolumeGBMonth, VolumeGB float64 }
	Network    struct{ PublicAddressHour, NATHour, NATGB, EndpointHour, EndpointGB float64 }
	CloudWatch struct{ Alarm, Metric, Dashboard, LogGB float64 }
	CloudMap   struct{ InstanceMonth, Request float64 }

	SecretMonth, HostedZoneMonth float64
	Assumed                      assumed
}

// assumed is what the calculation takes for granted.
type assumed struct {
	// Memory in GB and billed duration in seconds of an invocation.
	WriteGB, WriteSeconds, WriteFromMemorySeconds float64
	ReadGB, ReadSeconds                           float64
	// APIGB is the memory of the api function, which serves both.
	APIGB                                      float64
	EvictGB, EvictSeconds, EvictSecondsPer1000 float64
	StreamGB, StreamSeconds                    float64
	// Bytes of a request and its response, with headers.
	HeartbeatKB, ReadKB, FullReadKBPer1000, FullReadsPerInstanceHour float64
	// Utilization is the target of auto scaling; ReadHeadroom multiplies the
	// read capacity that a paced scan needs on average.
	Utilization, ReadHeadroom float64
	// Metrics that are watched by the alarms of template.yaml with Entry=http, by
	// those of a provisioned table and by those of infra/containers.yaml; and the
	// metrics that the functions and the containers write.
	Alarms, ScalingAlarms, ContainerAlarms, Metrics, ContainerMetrics float64
	// Log lines of the functions that do not depend on requests.
	LogLineKB, LogLinesAnHour float64
}

// lambdaInvocation is the price of one invocation.
func (p *prices) lambdaInvocation(gb, seconds float64) float64 {
	return p.Lambda.Request + gb*seconds*p.Lambda.GBSecond
}
