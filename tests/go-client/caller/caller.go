// Package caller asks a daemon the way GPUd's published Go client does, as far as a server can see it.
//
// It is written from our notes on that client, and is no copy of it. What it keeps: HTTP/1.1 only, any certificate
// taken, a comma in a query percent-encoded, the answer's Content-Type never looked at, the decoder chosen by the
// request's Content-Type, and a body that must be gzip when gzip was asked for by name.
package caller

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// ErrNotFound is what the two functions that tell a 404 apart return.
var ErrNotFound = errors.New("not found")

// The two media types that the API knows.
const (
	JSON = "application/json"
	YAML = "application/yaml"
)

// Options of one request. The zero value sends no header of its own.
type Options struct {
	// ContentType is JSON, YAML or empty.
	ContentType string
	// Gzip asks for gzip by name, and refuses any other body. Without it Go's transport asks by itself and inflates
	// whatever comes.
	Gzip bool
	// Components narrows States and Info. Nil sends no parameter, an empty name sends an empty one.
	Components []string
}

// Caller asks one daemon.
type Caller struct {
	base string
	http *http.Client
}

// To is a caller of this base URL.
func To(base string) *Caller {
	return &Caller{base: base, http: &http.Client{Transport: &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		TLSNextProto:      map[string]func(string, *tls.Conn) http.RoundTripper{},
		DisableKeepAlives: true,
	}}}
}

// Answer is a response as it came, inflated only by Go's transport.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends one request without a body.
func (c *Caller) Do(ctx context.Context, method, path string, options Options) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return Answer{}, err
	}
	if options.ContentType != "" {
		request.Header.Set("Content-Type", options.ContentType)
	}
	if options.Gzip {
		request.Header.Set("Accept-Encoding", "gzip")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	if response.Proto != "HTTP/1.1" {
		return Answer{}, fmt.Errorf("spoke %s, HTTP/1.1 was asked for", response.Proto)
	}
	body, err := io.ReadAll(response.Body)
	return Answer{Status: response.StatusCode, Header: response.Header, Body: body}, err
}

// Decode reads a good answer into a value by the rules of these options.
func (a Answer) Decode(options Options, into any) error {
	if a.Status != http.StatusOK {
		return fmt.Errorf("status %d: %s", a.Status, a.Body)
	}
	body := a.Body
	if options.Gzip {
		reader, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("gzip was asked for: %w", err)
		}
		if body, err = io.ReadAll(reader); err != nil {
			return fmt.Errorf("gzip was asked for: %w", err)
		}
	}
	if options.ContentType == YAML {
		return yaml.Unmarshal(body, into)
	}
	return json.Unmarshal(body, into)
}

// get sends a GET and decodes its answer.
func (c *Caller) get(ctx context.Context, path string, options Options, into any) error {
	answer, err := c.Do(ctx, http.MethodGet, path, options)
	if err != nil {
		return err
	}
	return answer.Decode(options, into)
}

// getKnown is get for what may not be there.
func (c *Caller) getKnown(ctx context.Context, path string, options Options, into any) error {
	answer, err := c.Do(ctx, http.MethodGet, path, options)
	if err != nil {
		return err
	}
	if answer.Status == http.StatusNotFound {
		return ErrNotFound
	}
	return answer.Decode(options, into)
}

// with gives a path its query, escaped as net/url does.
func with(path, key, value string) string {
	return path + "?" + url.Values{key: {value}}.Encode()
}

// named adds the components of the options, if any.
func named(path string, options Options) string {
	if options.Components == nil {
		return path
	}
	return with(path, "components", strings.Join(options.Components, ","))
}

// tick is how long WaitUntilReady waits before each try.
const tick = time.Second
