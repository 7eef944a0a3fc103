// Package instancecodec is the stored form of an instance: one instance as
// bytes (the attribute `info` of a lease, a row of the delta table), and many
// together (a chunk of the published snapshot).
//
// # One instance
//
//	format  1 byte   Format
//	method  1 byte   how the body is stored: plain, or DEFLATE with the
//	                 preset dictionary of this format
//	length  uvarint  bytes of the record before compression
//	sum     4 bytes  CRC-32C of the record, little endian
//	body             the record
//
// # A chunk
//
// The same header with the method DEFLATE without a dictionary. The body is
// the entries, each with its length before it: flags, version, the key where
// the instance does not give it, and the record where there is an instance.
//
// # Record
//
// Fields in a fixed order, given by appendRecord. Later versions may append
// fields: what follows the last known one is skipped, so writers and readers
// of different age live together. Everything else needs another Format, and
// the decoder of this one stays. The items under testdata hold both to it.
//
// Decoders never panic, make no more of their input than [MaxInstance] and
// 8 MiB for a chunk, and return an error that is [eureka.ErrCorrupt] for
// all they do not understand. The checksum is there because DEFLATE has none:
// most damage would decode to another instance.
package instancecodec
