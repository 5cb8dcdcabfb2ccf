package net

import (
	"time"

	"gpud.internal/gpud/internal/convert"
	wit "gpud.internal/gpud/internal/wit/gpud_plugin_net"
)

func httpGet(request Request) (*Response, error) {
	endpoint := wit.MakeEndpointLoopback(request.Port)
	if request.UnixSocket != "" {
		endpoint = wit.MakeEndpointUnixSocket(request.UnixSocket)
	}
	found, err := convert.Result(wit.HttpGet(wit.Request{
		Endpoint: endpoint, Path: request.Path, Headers: convert.Pairs(request.Headers),
		MaxBodyBytes: request.MaxBodyBytes, TimeoutMs: convert.Milliseconds(request.Timeout),
	}))
	if err != nil {
		return nil, err
	}
	return &Response{found.Status, convert.PairsFrom(found.Headers), found.Body}, nil
}

func tcpConnect(host string, port uint16, timeout time.Duration) (time.Duration, error) {
	microseconds, err := convert.Result(wit.TcpConnect(host, port, convert.Milliseconds(timeout)))
	return time.Duration(microseconds) * time.Microsecond, err
}
