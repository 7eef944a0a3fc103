// Package discovery is a Eureka client: it registers this process with a
// Eureka server, keeps it registered, and finds the instances of other
// services. It works with any Eureka server and knows nothing of AWS but, by
// choice, its metadata services.
//
// # In a service
//
//	client, err := discovery.New(discovery.Config{
//		ServiceURLs:     []string{"http://127.0.0.1:8761/eureka"},
//		Instance:        &discovery.Instance{App: "shop", Port: 8080},
//		RegisterAtStart: true,
//	})
//	if err != nil {
//		return err
//	}
//	if err := client.Start(ctx); err != nil {
//		return err
//	}
//	defer client.Stop(context.Background()) // cancels the lease
//
//	calls := &http.Client{Transport: client.RoundTripper(nil)}
//	resp, err := calls.Get("http://ORDERS/today") // an instance of ORDERS that is UP
//
// Or, with the variables that Spring services have in their environment:
//
//	cfg, err := discovery.ConfigFromEnv(os.Environ())
//
// # What happens meanwhile
//
// Start fetches the registry and begins three loops, all ended by Stop; see
// [Config] for the intervals.
//
//   - Lease: registers after 40 s, or while Start runs with RegisterAtStart, or
//     when status or metadata change; registers changes at once, a burst of two
//     and then one in 30 s; retries with doubled pauses. Renews every 30 s. A 404
//     to a heartbeat is answered at once with a registration. Heartbeats carry
//     the dirty timestamp of the last registration that was taken.
//   - Fetch: every 30 s, first everything, then deltas. After each delta the
//     hash code must be the registry's, or everything is fetched. What fails
//     leaves the last good registry in place ([Client.Age] tells how old it is).
//   - Health: asks [Config.HealthCheck], if there is one, for the status.
//
// Several servers are tried one after the other, those of the own zone first;
// one that failed is left alone for a minute. When no server answers at the
// start, [Config.Backup] is asked.
//
// [Client.View] is the registry at one moment, which never changes. Look-ups
// in it take no lock and allocate nothing.
//
// # Compared
//
// With github.com/hudl/fargo 1.4.0 and the Java client of Netflix (eureka-client
// 2.0 with the load balancer of Spring Cloud 2024.0):
//
//	                                      discovery       fargo           Java
//	register, renew, cancel               yes             calls only      yes
//	registers again on 404                yes             no              yes
//	changes registered at once            yes, limited    no              yes, limited
//	registration retried                  1 s to 10 s     no              every 30 s
//	heartbeat's timestamp                 of the last     none            of the last
//	                                      one taken                       change
//	full fetch                            yes             yes             yes
//	delta fetch, hash code reconciled     yes             no              yes
//	full when away longer than deltas     yes             -               no
//	late answers never replace newer      yes             no              yes
//	data kept when a fetch fails          yes             no              yes
//	age of the data                       yes             no              yes
//	gzip                                  yes             yes             yes
//	compact form                          yes             no              yes
//	If-None-Match                         yes             no              no
//	XML                                   no              yes             yes
//	backup registry                       yes             no              yes
//	several servers                       failover,       one at random   failover,
//	                                      quarantine      for each call   quarantine
//	own zone first                        yes             no              yes
//	servers found by DNS                  no              yes             yes
//	remote regions                        yes             no              yes
//	AWS metadata registered               EC2, ECS,       no              EC2
//	                                      Lambda
//	look-up by application, VIP,          yes             yes, asks       yes
//	  secure VIP                                          the server
//	look-up by id                         yes             yes, asks       yes
//	                                                      the server
//	look-up without lock or allocation    yes             no              no
//	events for listeners                  yes             channels        yes
//	health check sets the status          yes             no              yes
//	out of service and back by call       yes             yes             yes
//	calls by service name                 http.           no              RestTemplate,
//	                                      RoundTripper                    WebClient, Feign
//	zone affinity of calls                yes             no              yes
//	retry on another instance             yes             no              yes
//	settings from the environment         Spring's names  no              yes
//	contexts                              everywhere      no              -
//	clock, transport, logger injected     yes             no              partly
//	several clients in one process        yes             one logger,     one by default
//	                                                      one http.Client
//
// # Differences from the Java client, on purpose
//
//   - Heartbeats begin with the first registration that was taken, and their
//     timestamp is that of the last one taken (TestH19), so none is 404 only
//     because a change is under way.
//   - The lease's requests go one after the other, so nothing follows the
//     cancel (TestH18). Status DOWN is not sent before it.
//   - Data that is older than the servers keep changes is fetched anew: the
//     hash code only counts statuses and would not notice all that was missed.
//   - A pause that timeouts doubled is shortened at random, as are the pauses
//     between retries.
package discovery
