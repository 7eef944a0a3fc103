// Package core is the root of the registry's core, which knows nothing of AWS.
// This page is the map of the system.
//
// A request goes one way: handler -> core -> store.
//
//	core/httpapi     routes, formats, status codes: the net/http handler
//	core/registry    register, renew, cancel, status override, metadata
//	core/view        the read-only view that lists are served from
//	core/eviction    the scheduled pass: expiry, self-preservation, healing
//	core/delta       the delta table's contents: rows, snapshot, statistics
//	core/wire        Eureka's JSON and XML, both directions
//	core/eureka      the domain types, leases and their arithmetic, every
//	                 sentinel error
//	core/discovery   the Go client
//	core/access      users, roles, the gate before the API, rate limits
//	core/dashboard   the pages for people, and their templates
//	core/mirror      a copy of another registry, kept up by deltas
//	core/regions     other regions, for those who ask
//
// Where an operation of Eureka is:
//
//	operation        handler (core/httpapi)  core                            DynamoDB call (storage/dynamodb)
//	register         write.go register       registry.Registry.Register      lease.go Register
//	renew            write.go renew          registry.Registry.Renew         lease.go Renew
//	cancel           write.go cancel         registry.Registry.Cancel        lease.go Cancel
//	status override  write.go setStatus      registry.Registry.SetStatus     lease.go Get, Update
//	fetch            read.go applications    view.Cache.View            delta.go Deltas
//	evict            functions/handlers      eviction.Runner.Run             evict.go Evict
//
// Imports go downward only: httpapi -> registry, view, access, dashboard,
// wire -> delta -> eureka; imports_test.go holds it.
package core
