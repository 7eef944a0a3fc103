package instancecodec

import "sync"

// buffers are scratch buffers. Large ones are left to the garbage collector.
var buffers bufferPool

const maxKeptBuffer = 2 << 20

type bufferPool struct{ pool sync.Pool }

func (p *bufferPool) get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	return &[]byte{}
}

func (p *bufferPool) put(b *[]byte) {
	if cap(*b) <= maxKeptBuffer {
		p.pool.Put(b)
	}
}
