// Package net asks local services, and whether a place can be reached. Grant "net:": lists of unix socket paths
// ("unix"), loopback ports ("loopback"), and "host:port" places for TCPConnect ("tcp").
package net

import (
	"time"

	"gpud.internal/gpud"
)

// Request is an HTTP/1.1 GET request to a service of this machine.
type Request struct {
	// UnixSocket by absolute path; if it is empty, Port counts.
	UnixSocket string
	// Port of 127.0.0.1.
	Port uint16
	// Path with query, beginning with "/".
	Path string
	// Headers; Host defaults to localhost.
	Headers []gpud.Pair
	// MaxBodyBytes is the largest body accepted; zero means 1 MiB; at most 4 MiB.
	MaxBodyBytes uint32
	// Timeout of the whole exchange; zero means 5 seconds.
	Timeout time.Duration
}

const (
	usualTimeout = 5 * time.Second
	usualBody    = 1 << 20
)

func (r Request) orUsual() Request {
	if r.Timeout <= 0 {
		r.Timeout = usualTimeout
	}
	if r.MaxBodyBytes == 0 {
		r.MaxBodyBytes = usualBody
	}
	return r
}

// Response is the answer.
type Response struct {
	// Status code.
	Status uint16
	// Headers, names in lower case.
	Headers []gpud.Pair
	// Body of the answer.
	Body []byte
}

// HTTPGet sends a request.
func HTTPGet(request Request) (*Response, error) { return httpGet(request.orUsual()) }

// TCPConnect opens and closes a TCP connection; it gives the time that it took.
func TCPConnect(host string, port uint16, timeout time.Duration) (time.Duration, error) {
	return tcpConnect(host, port, timeout)
}
