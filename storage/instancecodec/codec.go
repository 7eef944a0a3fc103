package instancecodec

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/eurekaless/registry/core/eureka"
)

// Format is the version of the stored form that this package writes.
const Format = 1

// Methods: how the body is stored.
const (
	// methodPlain: as it is, since compression would not make it smaller.
	methodPlain = iota
	// methodDictionary: DEFLATE with the preset dictionary.
	methodDictionary
	// methodDeflate: DEFLATE without one.
	methodDeflate
)

const (
	// MaxInstance bounds an instance's record in bytes before compression.
	MaxInstance = 1 << 20
	// maxChunk bounds a chunk's body in bytes before compression.
	maxChunk = 8 << 20
	// maxRatio is the most that DEFLATE can shrink anything by, rounded up: a
	// length that promises more is a lie.
	maxRatio = 1040
)

// Encode returns the stored form of an instance. An instance larger than
// [MaxInstance] is an eureka.ErrTooLarge.
func Encode(i *eureka.InstanceInfo) ([]byte, error) {
	scratch := buffers.get()
	defer buffers.put(scratch)
	record := appendRecord(*scratch, i)
	*scratch = record[:0]
	if len(record) > MaxInstance {
		return nil, eureka.TooLargef("instance", "%d bytes, at most %d are taken", len(record), MaxInstance)
	}
	return seal(record, methodDictionary), nil
}

// Decode returns the instance of a stored form, or an eureka.ErrCorrupt.
func Decode(stored []byte) (*eureka.InstanceInfo, error) {
	body, err := open(stored, methodDictionary, MaxInstance)
	if err != nil {
		return nil, fmt.Errorf("instance: %w", err)
	}
	c := cursor{rest: body}
	i := c.instance()
	if c.bad {
		return nil, fmt.Errorf("instance: record cut short or garbled: %w", eureka.ErrCorrupt)
	}
	return i, nil
}

// minHeader is the least number of bytes that a header takes.
const minHeader = 1 + 1 + 1 + crc32.Size

// seal returns the stored form of a body: compressed, unless that is longer.
func seal(body []byte, method byte) []byte {
	out := make([]byte, 0, minHeader+binary.MaxVarintLen32+len(body)/2)
	out = append(out, Format, method)
	out = binary.AppendUvarint(out, uint64(len(body)))
	out = binary.LittleEndian.AppendUint32(out, checksum(body))
	header := len(out)
	out = compressors[method].deflate(out, body)
	if len(out)-header >= len(body) {
		out = append(out[:header], body...)
		out[1] = methodPlain
	}
	return out
}

// open returns the body of a stored form of at most limit bytes. The methods
// it takes are method and plain.
func open(stored []byte, method byte, limit uint64) (string, error) {
	if len(stored) < minHeader {
		return "", fmt.Errorf("%d bytes are too few: %w", len(stored), eureka.ErrCorrupt)
	}
	if stored[0] != Format {
		return "", fmt.Errorf("format %d, not %d: %w", stored[0], Format, eureka.ErrCorrupt)
	}
	length, n := binary.Uvarint(stored[2:])
	if n <= 0 || length > limit || len(stored) < 2+n+crc32.Size {
		return "", fmt.Errorf("header garbled: %w", eureka.ErrCorrupt)
	}
	sum := binary.LittleEndian.Uint32(stored[2+n:])
	body := stored[2+n+crc32.Size:]
	switch stored[1] {
	case methodPlain:
		return checked(body, int(length), sum)
	case method:
		if length > uint64(len(body))*maxRatio {
			return "", fmt.Errorf("length %d of %d bytes: %w", length, len(body), eureka.ErrCorrupt)
		}
		return inflated(compressors[method], body, int(length), sum)
	}
	return "", fmt.Errorf("method %d: %w", stored[1], eureka.ErrCorrupt)
}

// inflated returns the body that was compressed.
func inflated(c compressor, compressed []byte, length int, sum uint32) (string, error) {
	scratch := buffers.get()
	defer buffers.put(scratch)
	body, err := c.inflate(*scratch, compressed, length)
	*scratch = body[:0]
	if err != nil {
		return "", err
	}
	return checked(body, length, sum)
}

// checked returns the body as a text when it is what was stored.
func checked(body []byte, length int, sum uint32) (string, error) {
	if len(body) != length {
		return "", fmt.Errorf("%d bytes instead of %d: %w", len(body), length, eureka.ErrCorrupt)
	}
	if checksum(body) != sum {
		return "", fmt.Errorf("checksum differs: %w", eureka.ErrCorrupt)
	}
	return string(body), nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(body []byte) uint32 { return crc32.Checksum(body, castagnoli) }
