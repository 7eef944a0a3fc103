package dynamodb

// StreamItem is what images go through before they are leases.
var StreamItem = streamItem
